import type { AppMiddleware } from '../context.ts';
import { responseObject } from '../dialects/responses-reply.ts';
import { readResponses, responsesWords } from '../dialects/responses-request.ts';
import { responsesStream } from '../dialects/responses-stream.ts';
import { answerChat, type ChatDialect, type ChatRouteDeps } from './answer-chat.ts';
import { streamAnswer } from './chat-stream.ts';

/** `POST /v1/responses`, as OpenAI's SDKs send it. Nothing is stored. */
export const responses =
  (deps: ChatRouteDeps): AppMiddleware =>
  async (ctx) => {
    const body = ctx.request.body ?? {};
    const dialect: ChatDialect = {
      route: '/v1/responses',
      idPrefix: 'resp_',
      read: readResponses,
      clampedField: 'max_output_tokens',
      isLive: true,
      words: responsesWords,
      write: (answer) => responseObject(answer, body),
      stream: (about) => responsesStream(about, body),
    };
    if (body['stream'] === true) return streamAnswer(deps, ctx, dialect);
    const text = await answerChat(deps, ctx, dialect);
    ctx.type = 'application/json; charset=utf-8';
    ctx.body = text;
  };
