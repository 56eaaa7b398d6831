import type { JsonObject } from '../../domain/json.ts';
import type { AppMiddleware } from '../context.ts';
import { isGiven } from '../dialects/chat-fields.ts';
import { openaiCompletion } from '../dialects/openai-chat-reply.ts';
import { readOpenaiChat, readV1OpenaiChat, wantsUsage } from '../dialects/openai-chat-request.ts';
import { openaiStream } from '../dialects/openai-chat-stream.ts';
import { answerChat, type ChatDialect, type ChatRouteDeps } from './answer-chat.ts';
import { streamAnswer } from './chat-stream.ts';

/** `POST /api/v1/chat/completions` (spec §4.2). */
export const chatCompletions = (deps: ChatRouteDeps): AppMiddleware =>
  answerOpenai(deps, () => ({ route: '/api/v1/chat/completions', read: readOpenaiChat }));

/** `POST /v1/chat/completions`: the same, streamed as it is written, with any `max_tokens`, which is clamped to what the model writes. */
export const v1ChatCompletions = (deps: ChatRouteDeps): AppMiddleware =>
  answerOpenai(deps, (body) => ({
    route: '/v1/chat/completions',
    read: readV1OpenaiChat,
    isLive: true,
    clampedField: isGiven(body['max_tokens']) ? 'max_tokens' : 'max_completion_tokens',
  }));

const answerOpenai =
  (
    deps: ChatRouteDeps,
    howToRead: (body: JsonObject) => Pick<ChatDialect, 'route' | 'read' | 'clampedField' | 'isLive'>,
  ): AppMiddleware =>
  async (ctx) => {
    const body = ctx.request.body ?? {};
    const dialect: ChatDialect = {
      ...howToRead(body),
      write: openaiCompletion,
      stream: (about) => openaiStream({ ...about, includeUsage: wantsUsage(body) }),
    };
    if (body['stream'] === true) return streamAnswer(deps, ctx, dialect);
    const text = await answerChat(deps, ctx, dialect);
    ctx.type = 'application/json; charset=utf-8';
    ctx.body = text;
  };
