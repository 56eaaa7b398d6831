import type { ChatUsage } from '../../domain/chat/chat.ts';
import type { ChatDelta } from '../../domain/chat/chat-stream.ts';
import type { EventReader } from './chat-events.ts';
import { FailedAnswer } from '../upstream/classify-outcome.ts';
import { finishMeaning, openaiFinishWords } from './finish-words.ts';
import { OpenaiCallPieces } from './openai-call-pieces.ts';
import { fieldsIn, fieldsInEach, firstFieldsIn, textIn, type EventFields } from './event-fields.ts';

/**
 * The chunks of a streamed chat completion (https://platform.openai.com/docs/api-reference/chat-streaming, read 2026-11-22). The
 * thoughts of compatible providers come as `reasoning_content` (DeepSeek, Qwen, Kimi, GLM, xAI) or `reasoning` (OpenRouter).
 */
export const openaiEvents = (toUsage: (json: unknown) => ChatUsage | null): EventReader => {
  const calls = new OpenaiCallPieces();
  return {
    lacksPart: () => calls.hasNameless,
    read(json) {
      const chunk = fieldsIn(json);
      if (!chunk) return null;
      const choice = firstFieldsIn(chunk.choices);
      const reported = chunk.usage ?? choice?.usage;
      const usage = reported ? toUsage(reported) : null;
      const deltas: ChatDelta[] = usage ? [{ kind: 'usage', usage }] : [];
      if (!choice) return deltas;
      const delta = fieldsIn(choice.delta) ?? {};
      addTexts(deltas, delta);
      for (const call of fieldsInEach(delta.tool_calls)) {
        const piece = calls.add(call);
        if (piece) deltas.push(piece);
      }
      const reason = finishMeaning(openaiFinishWords, choice.finish_reason);
      if (reason === null) return deltas;
      if (reason === 'failed') return null;
      if (reason === 'malformed') return new FailedAnswer(String(choice.finish_reason));
      deltas.push({ kind: 'finish', reason: reason ?? 'stop' });
      return deltas;
    },
  };
};

function addTexts(deltas: ChatDelta[], delta: EventFields): void {
  const reasoning = textIn(delta.reasoning_content) ?? textIn(delta.reasoning);
  if (reasoning !== undefined) deltas.push({ kind: 'reasoning', text: reasoning });
  const text = textIn(delta.content) ?? textOfParts(delta.content);
  if (text !== undefined) deltas.push({ kind: 'text', text });
  const refusal = textIn(delta.refusal);
  if (refusal !== undefined) deltas.push({ kind: 'refusal', text: refusal });
}

const textOfParts = (content: unknown): string | undefined =>
  textIn(
    fieldsInEach(content)
      .map((part) => textIn(part.text) ?? '')
      .join(''),
  );
