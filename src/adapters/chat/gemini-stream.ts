import type { ChatReply, ToolCall } from '../../domain/chat/chat.ts';
import type { ChatDelta } from '../../domain/chat/chat-stream.ts';
import { callIdOr } from './chat-call.ts';
import type { EventReader } from './chat-events.ts';
import { FailedAnswer } from '../upstream/classify-outcome.ts';
import { finishMeaning, geminiFinishWords, type FinishMeaning } from './finish-words.ts';
import { fieldsIn, fieldsInEach, firstFieldsIn, textIn, type EventFields } from './event-fields.ts';

interface GeminiWords {
  toUsage: (json: unknown, hasContent: boolean) => ChatReply['usage'];
}

/**
 * The responses of `streamGenerateContent?alt=sse` (https://ai.google.dev/api/generate-content, read 2026-11-22). Each has the next parts
 * of the answer, and the counts so far. A function call comes whole.
 */
export const geminiEvents = (words: GeminiWords): EventReader => {
  let calls = 0;
  let hasContent = false;
  return {
    read(json) {
      const response = fieldsIn(json);
      if (!response) return null;
      const candidate = firstFieldsIn(response.candidates);
      if (!candidate && fieldsIn(response.promptFeedback)?.blockReason) return 'blocked';
      const deltas: ChatDelta[] = [];
      for (const part of fieldsInEach(fieldsIn(candidate?.content)?.parts)) {
        const delta = toDelta(part, calls);
        if (delta?.kind === 'tool_call') calls += 1;
        if (delta) deltas.push(delta);
        if (delta && delta.kind !== 'reasoning') hasContent = true;
      }
      const usage = words.toUsage(response.usageMetadata, hasContent);
      if (usage) deltas.push({ kind: 'usage', usage });
      const reason = finishMeaning(geminiFinishWords, candidate?.finishReason);
      if (reason === null) return deltas;
      if (isFailedAnswer(reason, hasContent)) return new FailedAnswer(String(candidate?.finishReason));
      deltas.push({ kind: 'finish', reason: reason ?? 'stop' });
      return deltas;
    },
  };
};

/** Whether an answer with this reason is none. A word without a meaning (OTHER, NO_IMAGE) beside content is no failure. */
export const isFailedAnswer = (
  reason: FinishMeaning | undefined,
  hasContent: boolean,
): reason is 'failed' | 'malformed' | undefined =>
  reason === 'failed' || reason === 'malformed' || (reason === undefined && !hasContent);

function toDelta(part: EventFields, calls: number): ChatDelta | null {
  const called = fieldsIn(part.functionCall);
  const name = textIn(called?.name);
  if (called && name !== undefined) return { kind: 'tool_call', index: calls, ...toCall(called, name, part) };
  const text = textIn(part.text);
  if (text === undefined) return null;
  return { kind: part.thought === true ? 'reasoning' : 'text', text };
}

function toCall(called: EventFields, name: string, part: EventFields): ToolCall {
  const signature = textIn(part.thoughtSignature);
  return {
    id: callIdOr(textIn(called.id)),
    name,
    arguments: JSON.stringify(fieldsIn(called.args) ?? {}),
    ...(signature !== undefined && { signature }),
  };
}
