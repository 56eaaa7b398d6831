import type { ChatTool } from '../../../domain/chat/chat.ts';
import type { JsonObject } from '../../../domain/json.ts';
import { tollgateOf } from '../chat-answer.ts';
import { namedEvent, type ChatStreamWriter, type StreamAbout } from '../chat-stream-writer.ts';
import { errorFields } from '../openai/openai.ts';
import { ResponseItems, type ItemEvent } from './responses-items.ts';
import { finishedResponse, openResponse, responseStatus } from './responses-reply.ts';

/**
 * Writes the events of a streamed response (https://platform.openai.com/docs/api-reference/responses-streaming, read 2026-11-22). The last
 * event has the whole response and its cost. `request` is the body as the client sent it, and `tools` are its parsed tools.
 */
export function responsesStream(
  about: Omit<StreamAbout, 'includeUsage'>,
  request: JsonObject,
  tools: readonly ChatTool[] = [],
): ChatStreamWriter {
  const items = new ResponseItems(about.id, tools);
  let sequence = 0;
  const write = ({ type, ...members }: ItemEvent): string =>
    namedEvent(type, { type, sequence_number: sequence++, ...members });
  const begin = (): string => {
    if (sequence > 0) return '';
    const response = openResponse(about, request);
    return write({ type: 'response.created', response }) + write({ type: 'response.in_progress', response });
  };
  return {
    pieces(deltas) {
      if (deltas.length === 0) return '';
      const opening = begin();
      const added = deltas.flatMap((delta) => items.add(delta)).map(write);
      return opening + added.join('');
    },

    end(answer) {
      const opening = begin();
      const status = responseStatus(answer.reply);
      const ending = items.end(status).map(write).join('');
      const { reply, usage, credits, costDetails } = answer;
      const response = finishedResponse({ ...about, reply, usage, credits, costDetails }, request, items.items);
      const tollgate = tollgateOf(answer);
      return opening + ending + write({ type: `response.${status}`, response: { ...response, tollgate } });
    },

    // The error is nested as OpenAI sends it, and flat as its SDKs' types have it. Codex reads `response.failed` only.
    error(error) {
      const fields = errorFields(error);
      const { code, message, param } = fields;
      const opening = begin();
      const ending = items.breakOff().map(write).join('');
      const failed = {
        ...openResponse(about, request),
        status: 'failed',
        error: { code, message },
        output: items.items,
      };
      const errorEvent = write({ type: 'error', error: fields, code, message, param });
      return opening + ending + errorEvent + write({ type: 'response.failed', response: failed });
    },
  };
}
