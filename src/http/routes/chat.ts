import type { ChatTool } from '../../domain/chat/chat.ts';
import type { JsonObject } from '../../domain/json.ts';
import type { AppMiddleware } from '../context.ts';
import { isNonNull } from '../dialects/chat-fields.ts';
import { openaiCompletion } from '../dialects/openai-chat-reply.ts';
import { readOpenaiChat, readV1OpenaiChat, wantsUsage } from '../dialects/openai-chat-request.ts';
import { openaiStream } from '../dialects/openai-chat-stream.ts';
import { answerChat, type ChatDialect, type ChatRouteDeps } from './answer-chat.ts';
import { streamAnswer } from './chat-stream.ts';

/** `POST /api/v1/chat/completions` (spec §4.2). */
export const chatCompletions = (deps: ChatRouteDeps): AppMiddleware =>
  answerOpenai(deps, () => ({ route: '/api/v1/chat/completions', isOfSpec: true, read: readOpenaiChat }));

/** `POST /v1/chat/completions`: the same, streamed as it is written, with any `max_tokens`, which is clamped to what the model writes. */
export const v1ChatCompletions = (deps: ChatRouteDeps): AppMiddleware =>
  answerOpenai(deps, (body) => ({
    route: '/v1/chat/completions',
    read: readV1OpenaiChat,
    isLive: true,
    clampedField: isNonNull(body['max_tokens']) ? 'max_tokens' : 'max_completion_tokens',
  }));

const answerOpenai =
  (
    deps: ChatRouteDeps,
    howToRead: (body: JsonObject) => Pick<ChatDialect, 'route' | 'read' | 'clampedField' | 'isLive' | 'isOfSpec'>,
  ): AppMiddleware =>
  async (ctx) => {
    const body = ctx.request.body ?? {};
    // Calls are written as their tools were offered.
    let tools: readonly ChatTool[] = [];
    const how = howToRead(body);
    const dialect: ChatDialect = {
      ...how,
      read(sent, reading) {
        const request = how.read(sent, reading);
        tools = request.tools;
        return request;
      },
      write: (answer) => openaiCompletion(answer, tools),
      stream: (about) => openaiStream({ ...about, includeUsage: wantsUsage(body) }, tools),
    };
    if (body['stream'] === true) return streamAnswer(deps, ctx, dialect);
    const text = await answerChat(deps, ctx, dialect);
    ctx.type = 'application/json; charset=utf-8';
    ctx.body = text;
  };
