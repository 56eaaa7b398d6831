import type { AppMiddleware } from '../context.ts';
import { openaiCompletion } from '../dialects/openai-chat-reply.ts';
import { readOpenaiChat, wantsUsage } from '../dialects/openai-chat-request.ts';
import { openaiStream } from '../dialects/openai-chat-stream.ts';
import { answerChat, type ChatDialect, type ChatRouteDeps } from './answer-chat.ts';
import { streamAnswer } from './chat-stream.ts';

/** `POST /api/v1/chat/completions` (spec §4.2). */
export const chatCompletions =
  (deps: ChatRouteDeps): AppMiddleware =>
  async (ctx) => {
    const body = ctx.request.body ?? {};
    const dialect: ChatDialect = {
      route: '/api/v1/chat/completions',
      read: readOpenaiChat,
      write: openaiCompletion,
      stream: (about) => openaiStream({ ...about, includeUsage: wantsUsage(body) }),
    };
    if (body['stream'] === true) return streamAnswer(deps, ctx, dialect);
    const text = await answerChat(deps, ctx, dialect);
    ctx.type = 'application/json; charset=utf-8';
    ctx.body = text;
  };
