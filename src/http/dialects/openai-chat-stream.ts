import type { ChatDelta } from '../../domain/chat-stream.ts';
import type { JsonObject } from '../../domain/json.ts';
import { dataEvent, type ChatStreamWriter, type StreamAbout, type StreamEnd } from './chat-stream-writer.ts';
import { openaiError } from './openai.ts';
import { openaiUsage } from './openai-chat-reply.ts';

/**
 * Writes `chat.completion.chunk` objects (https://platform.openai.com/docs/api-reference/chat-streaming, read 2026-11-22). The counts come
 * in a chunk of their own if the client asked for them. What the answer cost is in that chunk, or else in the one with the finish reason.
 * An error is an event with `error` and the finish reason `error`, as OpenRouter sends it.
 */
export function openaiStream({ id, created, model, includeUsage }: StreamAbout): ChatStreamWriter {
  // Nothing but the delta differs between the many chunks of an answer.
  const head = JSON.stringify({ id, object: 'chat.completion.chunk', created, model }).slice(0, -1);
  const tail = includeUsage ? ',"usage":null}' : '}';
  let isFirst = true;
  const chunk = (delta: string, finishReason: string | null, more = ''): string => {
    const reason = finishReason === null ? 'null' : `"${finishReason}"`;
    return dataEvent(
      `${head},"choices":[{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${reason}}]${more}${tail}`,
    );
  };
  const piece = (delta: JsonObject): string => {
    const said = isFirst ? { role: 'assistant', ...delta } : delta;
    isFirst = false;
    return chunk(JSON.stringify(said), null);
  };
  const cost = ({ credits, attempts, warning }: StreamEnd): string => JSON.stringify({ credits, attempts, warning });

  return {
    pieces: (deltas) => joined(deltas).map(toDelta).map(piece).join(''),

    end(answer) {
      const opening = isFirst ? piece({ content: '' }) : '';
      const last = includeUsage ? '' : `,"tollgate":${cost(answer)}`;
      const finish = opening + chunk('{}', answer.reply.finishReason, last);
      if (!includeUsage) return `${finish}data: [DONE]\n\n`;
      const usage = `"choices":[],"usage":${JSON.stringify(openaiUsage(answer))},"tollgate":${cost(answer)}`;
      return `${finish}${dataEvent(`${head},${usage}}`)}data: [DONE]\n\n`;
    },

    error: (error) =>
      dataEvent(
        `${head},${JSON.stringify(openaiError(error)).slice(1, -1)},"choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"error"}]}`,
      ),
  };
}

/** Pieces of one kind that arrived together become one, which costs the client less. */
function joined(deltas: readonly ChatDelta[]): ChatDelta[] {
  const all: ChatDelta[] = [];
  for (const delta of deltas) {
    // A signature has no field in this dialect.
    if (delta.kind === 'signed_thought') continue;
    const last = all.at(-1);
    if (last?.kind === 'text' && delta.kind === 'text') all[all.length - 1] = { ...last, text: last.text + delta.text };
    else all.push(delta);
  }
  return all;
}

function toDelta(delta: ChatDelta): JsonObject {
  switch (delta.kind) {
    case 'text':
      return { content: delta.text };
    case 'reasoning':
      return { reasoning_content: delta.text };
    case 'refusal':
      return { refusal: delta.text };
    case 'tool_call':
      return { tool_calls: [toCall(delta)] };
    default:
      throw new Error(`${delta.kind} is no content`);
  }
}

const toCall = ({
  index,
  id,
  name,
  arguments: text,
  signature,
}: Extract<ChatDelta, { kind: 'tool_call' }>): JsonObject => ({
  index,
  ...(id !== undefined && { id, type: 'function' }),
  function: { ...(name !== undefined && { name }), arguments: text },
  ...(signature !== undefined && { extra_content: { google: { thought_signature: signature } } }),
});
