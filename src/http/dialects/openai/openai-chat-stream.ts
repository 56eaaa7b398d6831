import type { ChatTool } from '../../../domain/chat/chat.ts';
import { ThoughtText, type ChatDelta } from '../../../domain/chat/chat-stream.ts';
import type { JsonObject } from '../../../domain/json.ts';
import { tollgateOf } from '../chat-answer.ts';
import { CallOrder } from '../call-order.ts';
import {
  dataEvent,
  joinedPieces,
  type ChatStreamWriter,
  type StreamAbout,
  type StreamEnd,
} from '../chat-stream-writer.ts';
import { customCall, isCustomTool, type CustomCallForm } from '../custom-tool.ts';
import { openaiError } from './openai.ts';
import { FINGERPRINT, hasVendorForm, hasWholeCalls, openaiUsage } from './openai-chat-reply.ts';

/**
 * Writes `chat.completion.chunk` objects (https://platform.openai.com/docs/api-reference/chat-streaming, read 2026-11-22). The counts come
 * in a chunk of their own if the client asked for them. What the answer cost is in that chunk, or else in the one with the finish reason.
 * Calls come one after another, as OpenAI's do: LangChain4j takes a call for whole when the next one begins.
 * An error is an event with the finish reason `error`, as OpenRouter sends it. Its first field is `error`: go-openai looks for it there only.
 * Its choice has no `index`, because AI SDK and Zed take every event that fits the type of a chunk for a piece of the answer.
 */
export function openaiStream(
  { id, created, model, ownedBy, includeUsage }: StreamAbout,
  tools: readonly ChatTool[] = [],
  customForm: CustomCallForm = 'custom',
): ChatStreamWriter {
  /** Calls that are written whole at the end, such as those with free text, which is read from whole arguments only. */
  const wholeCalls = new Map<number, WholeCall>();
  const isWhole = (name: string): boolean => hasWholeCalls(ownedBy) || isCustomTool(tools, name);
  const chunk = { id, object: 'chat.completion.chunk', created, model, system_fingerprint: FINGERPRINT };
  const head = JSON.stringify(chunk).slice(0, -1);
  const tail = includeUsage ? ',"usage":null}' : '}';
  const beforeDelta = `${head},"choices":[{"index":0,"delta":`;
  // Nothing but the delta differs between the many chunks of an answer.
  const beforePiece = `data: ${beforeDelta}`;
  const afterPiece = `,"logprobs":null,"finish_reason":null}]${tail}\n\n`;
  const thoughts = new ThoughtText();
  const order = new CallOrder();
  let isFirst = true;
  const piece = (delta: string): string => {
    const fullDelta = isFirst ? `{"role":"assistant",${delta.slice(1)}` : delta;
    isFirst = false;
    return beforePiece + fullDelta + afterPiece;
  };
  const cost = (answer: StreamEnd): string => JSON.stringify(tollgateOf(answer));

  const pieces = (deltas: readonly ChatDelta[]): string => {
    let events = '';
    for (const delta of joinedPieces(deltas, thoughts)) {
      if (delta.kind !== 'tool_call' || !keepWhole(wholeCalls, delta, isWhole)) events += piece(toDelta(delta));
    }
    return events;
  };

  return {
    pieces: (deltas) => pieces(deltas.flatMap((delta) => order.next(delta))),

    end(answer) {
      const rest = pieces(order.rest());
      const calls = [...wholeCalls.values()].map((call) => JSON.stringify(toWhole(call, tools, customForm)));
      const isLast = hasWholeCalls(ownedBy) && calls.length > 0;
      const apart = isLast ? [] : calls.map((call) => piece(`{"tool_calls":[${call}]}`));
      const opening = rest + apart.join('') + (isFirst ? piece('{"content":""}') : '');
      const delta = isLast ? `{"content":"","tool_calls":[${calls.join(',')}]}` : '{}';
      const usage = `"usage":${JSON.stringify(openaiUsage(answer))}`;
      const last = includeUsage ? '' : `${hasVendorForm(ownedBy) ? `,${usage}` : ''},"tollgate":${cost(answer)}`;
      const reason = JSON.stringify(answer.reply.finishReason);
      const finish =
        opening + dataEvent(`${beforeDelta}${delta},"logprobs":null,"finish_reason":${reason}}]${last}${tail}`);
      if (!includeUsage) return `${finish}data: [DONE]\n\n`;
      return `${finish}${dataEvent(`${head},"choices":[],${usage},"tollgate":${cost(answer)}}`)}data: [DONE]\n\n`;
    },

    error: (error) =>
      dataEvent(
        `${JSON.stringify(openaiError(error)).slice(0, -1)},${head.slice(1)},"choices":[{"delta":{},"logprobs":null,"finish_reason":"error"}]}`,
      ),
  };
}

/** The JSON of a delta. */
function toDelta(delta: ChatDelta): string {
  switch (delta.kind) {
    case 'text':
      return `{"content":${JSON.stringify(delta.text)}}`;
    case 'reasoning':
      return `{"reasoning_content":${JSON.stringify(delta.text)}}`;
    case 'refusal':
      return `{"refusal":${JSON.stringify(delta.text)}}`;
    case 'tool_call':
      return `{"tool_calls":[${JSON.stringify(toCall(delta))}]}`;
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

interface WholeCall {
  index: number;
  id: string;
  name: string;
  text: string;
}

/** Adds a piece to the kept call that it belongs to; false if there is none. */
function keepWhole(
  calls: Map<number, WholeCall>,
  { index, id = '', name = '', arguments: text }: Extract<ChatDelta, { kind: 'tool_call' }>,
  isWhole: (name: string) => boolean,
): boolean {
  const call = calls.get(index);
  if (call) call.text += text;
  else if (isWhole(name)) calls.set(index, { index, id, name, text });
  else return false;
  return true;
}

const toWhole = (
  { index, id, name, text }: WholeCall,
  tools: readonly ChatTool[],
  customForm: CustomCallForm,
): JsonObject => ({
  index,
  ...(isCustomTool(tools, name)
    ? customCall({ id, name, arguments: text }, customForm)
    : { id, type: 'function', function: { name, arguments: text || '{}' } }),
});
