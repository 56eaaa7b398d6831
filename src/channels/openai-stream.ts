import type { ChatUsage } from '../domain/chat.ts';
import type { ChatDelta } from '../domain/chat-stream.ts';
import type { EventReader } from './chat-events.ts';
import { FailedAnswer } from './classify-outcome.ts';
import { finishMeaning, openaiFinishWords } from './finish-words.ts';
import { fieldsIn, fieldsInEach, firstFieldsIn, indexIn, textIn, type EventFields } from './event-fields.ts';

/** How the family reads what streams share with whole answers. */
interface OpenaiWords {
  toUsage: (json: unknown) => ChatUsage | null;
}

/**
 * The chunks of a streamed chat completion (https://platform.openai.com/docs/api-reference/chat-streaming, read 2026-11-22). The
 * thoughts of compatible providers come as `reasoning_content` (DeepSeek, Qwen, Kimi, GLM, xAI) or `reasoning` (OpenRouter).
 */
export const openaiEvents = (words: OpenaiWords): EventReader => {
  const names = new Set<number>();
  return {
    read(json) {
      const chunk = fieldsIn(json);
      if (!chunk) return null;
      const choice = firstFieldsIn(chunk.choices);
      const told = chunk.usage ?? choice?.usage;
      const usage = told ? words.toUsage(told) : null;
      const deltas: ChatDelta[] = usage ? [{ kind: 'usage', usage }] : [];
      if (!choice) return deltas;
      const delta = fieldsIn(choice.delta) ?? {};
      addTexts(deltas, delta);
      for (const call of fieldsInEach(delta.tool_calls)) {
        const piece = toCallDelta(call);
        // A name in every piece, as some servers send it, belongs to the first one only.
        if (names.has(piece.index)) delete piece.name;
        else if (piece.name !== undefined) names.add(piece.index);
        deltas.push(piece);
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

function toCallDelta(call: EventFields): Extract<ChatDelta, { kind: 'tool_call' }> {
  const called = fieldsIn(call.function) ?? {};
  const index = indexIn(call.index) ?? 0;
  const [id, name] = [textIn(call.id), textIn(called.name)];
  const signature = textIn(fieldsIn(fieldsIn(call.extra_content)?.google)?.thought_signature);
  // Some compatible servers send the arguments as an object.
  const given = called.arguments ?? '';
  return {
    kind: 'tool_call',
    index,
    ...(id !== undefined && { id }),
    ...(name !== undefined && { name }),
    arguments: typeof given === 'string' ? given : JSON.stringify(given),
    ...(signature !== undefined && { signature }),
  };
}
