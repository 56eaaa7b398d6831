import type { ChatTool } from '../../domain/chat/chat.ts';
import type { AppMiddleware } from '../context.ts';
import { responseObject } from '../dialects/responses-reply.ts';
import { readResponses, responsesWords } from '../dialects/responses-request.ts';
import { responsesStream } from '../dialects/responses-stream.ts';
import { answerChat, type ChatDialect, type ChatRouteDeps } from './answer-chat.ts';
import { streamAnswer } from './chat-stream.ts';
import { countTokens } from './count-tokens.ts';

/** `POST /v1/responses`, as OpenAI's SDKs send it. Nothing is stored. */
export const responses =
  (deps: ChatRouteDeps): AppMiddleware =>
  async (ctx) => {
    const body = ctx.request.body ?? {};
    // Calls are named in the answer as the client named its tools.
    let tools: readonly ChatTool[] = [];
    const dialect: ChatDialect = {
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
    if (body['stream'] === true) return streamAnswer(deps, ctx, dialect);
    const text = await answerChat(deps, ctx, dialect);
    ctx.type = 'application/json; charset=utf-8';
    ctx.body = text;
  };

/** `POST /v1/responses/input_tokens` (https://platform.openai.com/docs/api-reference/responses/input-tokens, read 2026-11-26). */
export const countResponseTokens = (deps: ChatRouteDeps): AppMiddleware =>
  countTokens(deps, {
    read: (_ctx, body, reading) => readResponses(body, reading),
    words: responsesWords,
    write: (tokens) => ({ object: 'response.input_tokens', input_tokens: tokens }),
  });
