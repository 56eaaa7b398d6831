import type { z } from 'zod';
import type { ChatTool } from '../../domain/chat/chat.ts';
import type { JsonObject } from '../../domain/json.ts';
import { json } from '../description.ts';
import { ResponsesBody } from '../dialects/responses/responses-fields.ts';
import { responseObject } from '../dialects/responses/responses-reply.ts';
import { readResponses, responsesWords } from '../dialects/responses/responses-request.ts';
import { responsesStream } from '../dialects/responses/responses-stream.ts';
import { answerChat, type ChatDialect, type ChatRouteDeps } from './answer-chat.ts';
import { streamAnswer } from './chat-stream.ts';
import { OpenaiResponse, ResponseTokens } from '../openapi/schemas/openai-response.ts';
import { sendJsonText } from '../request/json-text.ts';
import { endpoint, type Route } from '../route.ts';
import { chatAnswer, counting, idempotencyKey, question, questionText } from './common-descriptions.ts';
import { chatScope, postPartsRow } from './common-rows.ts';
import { countTokensRoute } from './count-tokens.ts';

const Request = ResponsesBody.meta({ id: 'ResponsesRequest' });
const body = {
  accepts: { 'application/json': Request },
  examples: question((model) => ({ model, input: questionText })),
} as const;

/** The Responses API, as OpenAI's SDKs call it (https://platform.openai.com/docs/api-reference/responses, read 2026-11-26). Nothing is stored. */
export const responseRoutes = (deps: ChatRouteDeps): Route[] => [
  endpoint({
    ...postPartsRow('/v1/responses', chatScope),
    ...body,
    ...chatAnswer(OpenaiResponse, ['previous_response_not_found']),
    headers: idempotencyKey,
    summary: 'Create a response, for SDKs of OpenAI',
    description:
      'The Responses API. Nothing is stored: `store: true`, `previous_response_id` and `background` are refused. Send the items of earlier answers back in `input`.',
    async handler(ctx) {
      const body = ctx.request.body ?? {};
      const dialect = dialectFor(body);
      if (body['stream'] === true) return streamAnswer(deps, ctx, dialect);
      sendJsonText(ctx, await answerChat(deps, ctx, dialect));
    },
  }),
  endpoint({
    ...postPartsRow('/v1/responses/input_tokens', chatScope),
    ...body,
    ...counting,
    errors: [...counting.errors, 'previous_response_not_found'],
    summary: 'Count the tokens of a response',
    answers: { 200: { description: 'The count.', content: json(ResponseTokens) } },
    handler: countTokensRoute<z.input<typeof ResponseTokens>>(deps, {
      read: (_ctx, body, reading) => readResponses(body, reading),
      words: responsesWords,
      write: (tokens) => ({ object: 'response.input_tokens', input_tokens: tokens }),
    }),
  }),
];

function dialectFor(body: JsonObject): ChatDialect {
  // Calls are named in the answer as the client named its tools.
  let tools: readonly ChatTool[] = [];
  return {
    route: '/v1/responses',
    idPrefix: 'resp_',
    read(sent, reading) {
      const request = readResponses(sent, reading);
      tools = request.tools;
      return request;
    },
    clampedField: 'max_output_tokens',
    isLive: true,
    words: responsesWords,
    write: (answer) => responseObject(answer, body, tools),
    stream: (about) => responsesStream(about, body, tools),
  };
}
