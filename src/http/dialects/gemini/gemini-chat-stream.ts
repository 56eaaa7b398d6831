import { ThoughtText, type ChatDelta } from '../../../domain/chat/chat-stream.ts';
import { statusOf } from '../../response/error-status.ts';
import { asEvents, type Framing } from '../../server/framing.ts';
import { dataEvent, joinedPieces, type ChatStreamWriter, type StreamAbout } from '../chat-stream-writer.ts';
import { geminiError } from './gemini.ts';
import { finishWords, geminiUsage, toCallPart, uncounted, type GeminiPart } from './gemini-chat-reply.ts';

/**
 * Writes the responses of `streamGenerateContent?alt=sse` (https://ai.google.dev/api/generate-content, read 2026-11-22). Function calls
 * have whole arguments in this format, so they come with the last event. Some clients demand `usageMetadata` in each; only the last one counts.
 * The last event has the last character: go-genai forgets a turn that has an empty text.
 */
export function geminiStream({ id, model }: StreamAbout): ChatStreamWriter {
  const event = (candidate: object, more: object): string =>
    dataEvent(
      JSON.stringify({ candidates: [{ index: 0, ...candidate }], ...more, modelVersion: model, responseId: id }),
    );
  const thoughts = new ThoughtText();
  /** The last character of the text so far. */
  let kept = '';
  const keptPart = (): GeminiPart[] => {
    const text = kept;
    kept = '';
    return text === '' ? [] : [{ text }];
  };
  /** Some clients read the first part of an event alone. */
  const written = (part: GeminiPart): string =>
    event({ content: { role: 'model', parts: [part] } }, { usageMetadata: uncounted });
  return {
    pieces: (deltas) =>
      joinedPieces(deltas, thoughts)
        .flatMap(toPart)
        .flatMap((part) => {
          if (part.thought) return [...keptPart(), part];
          const text = kept + (part.text ?? '');
          kept = lastCharacter(text);
          return text === kept ? [] : [{ text: text.slice(0, -kept.length) }];
        })
        .map(written)
        .join(''),

    end({ reply, usage, warning, ...cost }) {
      const calls = reply.toolCalls.map(toCallPart);
      const whole = calls.filter((part) => part !== null);
      const before = whole.length > 0 ? keptPart().map(written).join('') : '';
      const parts = whole.length > 0 ? whole : [{ text: kept }];
      const ending = event(
        {
          content: { role: 'model', parts },
          finishReason: calls.includes(null) ? 'MALFORMED_FUNCTION_CALL' : finishWords[reply.finishReason],
        },
        {
          usageMetadata: geminiUsage({ reply, usage, ...cost }),
          ...(warning !== undefined && { tollgate: { warning } }),
        },
      );
      return before + ending;
    },

    // Google's SDK for Go reads an error only from a line without `data:`. Parsers of events ignore such a line.
    error(error) {
      const body = JSON.stringify(geminiError(error, statusOf[error.code]));
      return `${keptPart().map(written).join('')}${dataEvent(body)}${body}\n\n`;
    },
  };
}

/** Events for Google's SDKs. After a silence one with an empty text is sent: the SDKs for Go and Python fail at a comment, and that for C# at an empty event. */
export const asGeminiEvents = (modelVersion: string): Framing =>
  asEvents(
    dataEvent(
      JSON.stringify({
        candidates: [{ index: 0, content: { role: 'model', parts: [{ text: '' }] } }],
        usageMetadata: uncounted,
        // Spring AI demands it of each event.
        modelVersion,
      }),
    ),
  );

function toPart(delta: ChatDelta): GeminiPart[] {
  if (delta.kind === 'text' || delta.kind === 'refusal') return [{ text: delta.text }];
  if (delta.kind === 'reasoning') return [{ text: delta.text, thought: true }];
  return [];
}

/** The last character of a text, which may have two UTF-16 units; empty if it has none. */
function lastCharacter(text: string): string {
  const pair = text.slice(-2);
  return (pair.codePointAt(0) ?? 0) > 0xffff ? pair : pair.slice(-1);
}
