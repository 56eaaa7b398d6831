import type { ChatReply, FinishReason, ToolCall } from '../../domain/chat/chat.ts';
import type { ChatDelta } from '../../domain/chat/chat-stream.ts';
import { callIdOr } from './tool-words.ts';
import type { EventReader } from './chat-events.ts';
import { FailedAnswer } from '../upstream/classify-outcome.ts';
import { finishMeaning, geminiFinishWords } from './finish-words.ts';
import { fieldsIn, fieldsInEach, firstFieldsIn, mergedFields, textIn, type EventFields } from './event-fields.ts';

/**
 * The responses of `streamGenerateContent?alt=sse` (https://ai.google.dev/api/generate-content, read 2026-11-22). Each has the next parts
 * of the answer, and the counts so far. A function call comes whole.
 */
export const geminiEvents = (toUsage: (json: unknown, hasContent: boolean) => ChatReply['usage']): EventReader => {
  let calls = 0;
  let hasContent = false;
  let hasUncounted = false;
  let counts: EventFields = {};
  return {
    read(json) {
      const response = fieldsIn(json);
      if (!response) return null;
      const candidate = firstFieldsIn(response.candidates);
      if (!candidate && fieldsIn(response.promptFeedback)?.blockReason) return 'blocked';
      const deltas: ChatDelta[] = [];
      for (const part of fieldsInEach(fieldsIn(candidate?.content)?.parts)) {
        const call = toCall(part);
        if (call === null || typeof (part.text ?? '') !== 'string') return null;
        const delta = call ? { kind: 'tool_call' as const, index: calls, ...call } : toText(part);
        if (call) calls += 1;
        if (delta) deltas.push(delta);
        if (delta && delta.kind !== 'reasoning') hasContent = hasUncounted = true;
      }
      const reported = fieldsIn(response.usageMetadata);
      if ((reported?.candidatesTokenCount ?? null) !== null) hasUncounted = false;
      // A count from before the last content is none of the whole answer.
      if (reported) counts = mergedFields(hasUncounted ? { ...counts, candidatesTokenCount: null } : counts, reported);
      const usage = reported && toUsage(counts, hasContent);
      if (usage) deltas.push({ kind: 'usage', usage });
      const end = geminiEnd(candidate?.finishReason, hasContent);
      if (end instanceof FailedAnswer) return end;
      if (end) deltas.push({ kind: 'finish', reason: end });
      return deltas;
    },
  };
};

/** How an answer with this word ends; null if it goes on. A word without a meaning (OTHER, NO_IMAGE) is a failure if nothing was written. */
function geminiEnd(word: unknown, hasContent: boolean): FinishReason | FailedAnswer | null {
  const meaning = finishMeaning(geminiFinishWords, word);
  if (meaning === 'failed' || meaning === 'malformed') return new FailedAnswer(String(word));
  if (meaning !== undefined) return meaning;
  return hasContent ? 'stop' : new FailedAnswer(String(word));
}

/** The call in a part; undefined if it has none. Null for a call without a name or with other arguments than an object: the answer is unusable. */
function toCall(part: EventFields): ToolCall | null | undefined {
  if ((part.functionCall ?? null) === null) return undefined;
  const called = fieldsIn(part.functionCall);
  const input = fieldsIn(called?.args ?? {});
  const [name, signature] = [textIn(called?.name), textIn(part.thoughtSignature)];
  if (name === undefined || input === null) return null;
  return {
    id: callIdOr(textIn(called?.id)),
    name,
    arguments: JSON.stringify(input),
    ...(signature !== undefined && { signature }),
  };
}

function toText(part: EventFields): ChatDelta | null {
  const text = textIn(part.text);
  return text === undefined ? null : { kind: part.thought === true ? 'reasoning' : 'text', text };
}
