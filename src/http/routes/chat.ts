import type { ChatTool } from '../../domain/chat/chat.ts';
import type { JsonObject } from '../../domain/json.ts';
import type { AppContext } from '../context.ts';
import type { Catalog } from '../description.ts';
import { isNonNull } from '../dialects/chat-fields.ts';
import type { CustomCallForm } from '../dialects/custom-tool.ts';
import { hasInput, isCursorChat, readCursorChat } from '../dialects/openai/cursor-chat.ts';
import { openaiCompletion } from '../dialects/openai/openai-chat-reply.ts';
import { readOpenaiChat, readV1OpenaiChat, wantsUsage } from '../dialects/openai/openai-chat-request.ts';
import { openaiStream } from '../dialects/openai/openai-chat-stream.ts';
import { responsesWords } from '../dialects/responses/responses-request.ts';
import { answerChat, type ChatDialect, type ChatRouteDeps } from './answer-chat.ts';
import { chatRequest, v1ChatRequest } from '../openapi/chat-bodies.ts';
import { modelExamples } from '../openapi/model-examples.ts';
import { ChatCompletion } from '../openapi/schemas/chat-completion.ts';
import { sendJsonText } from '../request/json-text.ts';
import { endpoint, type Route } from '../route.ts';
import { streamAnswer } from './chat-stream.ts';
import { chatAnswer, idempotencyKey } from './common-descriptions.ts';
import { chatScope, postJsonRow, postPartsRow } from './common-rows.ts';

/** Chats in the words of OpenAI's chat completions: as the specification has them (§4.2), and for OpenAI's SDKs. */
export const chatRoutes = (deps: ChatRouteDeps): Route[] => [
  endpoint({
    ...postJsonRow('/api/v1/chat/completions', chatScope),
    ...completion,
    summary: 'Complete a chat',
    description: descriptionOf('`max_tokens` is 16 to 8,192.'),
    accepts: { 'application/json': chatRequest },
    handler: answerOpenai(deps, () => ({ route: '/api/v1/chat/completions', isOfSpec: true, read: readOpenaiChat })),
  }),
  endpoint({
    ...postPartsRow('/v1/chat/completions', chatScope),
    ...completion,
    summary: 'Complete a chat, for SDKs of OpenAI',
    description: descriptionOf('Any `max_tokens`: more than the model writes is lowered.'),
    accepts: { 'application/json': v1ChatRequest },
    handler: answerOpenai(deps, howToReadV1),
  }),
];

const howToReadV1: HowToRead = (body) => ({
  route: '/v1/chat/completions',
  isLive: true,
  clampedField: isNonNull(body['max_tokens']) ? 'max_tokens' : 'max_completion_tokens',
  read: readV1OpenaiChat,
  ...(isCursorChat(body) && { read: readCursorChat, customForm: 'function' }),
  ...(hasInput(body) && { clampedField: 'max_output_tokens', words: responsesWords }),
});

const completion = {
  ...chatAnswer(ChatCompletion),
  headers: idempotencyKey,
  examples: (catalog: Catalog) => modelExamples(catalog, 'chat'),
} as const;

const descriptionOf = (limit: string): string =>
  [
    limit,
    "The request is OpenAI's. Credits for the worst case are held first; the actual usage is charged before the answer leaves. A chat that fails costs nothing.",
    'With `stream: true` the answer is `text/event-stream`. `x-tollgate-stream` says `live` or `buffered`, and the last chunk has `tollgate: {credits, attempts, cost_details}`.',
  ].join('\n\n');

/** How a request with this body is read and answered. */
type HowToRead = (body: JsonObject) => Pick<
  ChatDialect,
  'route' | 'read' | 'clampedField' | 'isLive' | 'isOfSpec' | 'words'
> & {
  customForm?: CustomCallForm;
};

const answerOpenai =
  (deps: ChatRouteDeps, howToRead: HowToRead) =>
  async (ctx: AppContext): Promise<void> => {
    const body = ctx.request.body ?? {};
    // Calls are written as their tools were offered.
    let tools: readonly ChatTool[] = [];
    const { customForm, ...how } = howToRead(body);
    const dialect: ChatDialect = {
      ...how,
      read(sent, reading) {
        const request = how.read(sent, reading);
        tools = request.tools;
        return request;
      },
      write: (answer) => openaiCompletion(answer, tools, customForm),
      stream: (about) => openaiStream({ ...about, includeUsage: wantsUsage(body) }, tools, customForm),
    };
    if (body['stream'] === true) return streamAnswer(deps, ctx, dialect);
    sendJsonText(ctx, await answerChat(deps, ctx, dialect));
  };
