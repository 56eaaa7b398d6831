import { z } from 'zod';
import type { AppContext } from '../context.ts';
import { json } from '../description.ts';
import { CountBody, MessagesBody } from '../dialects/anthropic/anthropic-chat-fields.ts';
import { anthropicMessage } from '../dialects/anthropic/anthropic-chat-reply.ts';
import { anthropicWords, readMessages, readTokenCount } from '../dialects/anthropic/anthropic-chat-request.ts';
import { anthropicStream, asMessageEvents } from '../dialects/anthropic/anthropic-chat-stream.ts';
import { beta } from '../dialects/model-form.ts';
import { answerChat, type ChatDialect, type ChatRouteDeps } from './answer-chat.ts';
import { streamAnswer } from './chat-stream.ts';
import { AnthropicMessage, TokenCount } from '../openapi/schemas/anthropic-message.ts';
import { sendJsonText } from '../request/json-text.ts';
import { headerText } from '../request/query.ts';
import { endpoint, type Route } from '../route.ts';
import { chatAnswer, counting, idempotencyKey, question, questionText } from './common-descriptions.ts';
import { chatScope, postPartsRow } from './common-rows.ts';
import { countTokensRoute } from './count-tokens.ts';

const dialect: ChatDialect = {
  route: '/v1/messages',
  idPrefix: 'msg_',
  read: readMessages,
  clampedField: 'max_tokens',
  isLive: true,
  words: anthropicWords,
  write: anthropicMessage,
  stream: anthropicStream,
  framing: asMessageEvents,
};

const messages = [{ role: 'user', content: questionText }];
const versionHeader = {
  // An empty header is an absent one.
  'anthropic-version': z
    .string()
    .regex(/^(20\d\d-\d\d-\d\d)?$/)
    .describe('A date. Every version is answered in one shape.'),
};
const post = (path: string) =>
  ({
    ...postPartsRow(path, chatScope),
    dialect: 'anthropic',
    query: { beta },
  }) as const;

/** The Messages API, as Anthropic's SDKs call it. */
export const messageRoutes = (deps: ChatRouteDeps): Route[] => [
  endpoint({
    ...post('/v1/messages'),
    ...chatAnswer(AnthropicMessage),
    summary: 'Create a message, for SDKs of Anthropic',
    description: 'The Messages API, for every chat model.',
    headers: { ...versionHeader, ...idempotencyKey },
    accepts: { 'application/json': MessagesBody.meta({ id: 'MessagesRequest' }) },
    examples: question((model) => ({ model, max_tokens: 1_024, messages })),
    async handler(ctx) {
      demandAnthropicVersion(ctx);
      if (ctx.request.body?.['stream'] === true) return streamAnswer(deps, ctx, dialect);
      sendJsonText(ctx, await answerChat(deps, ctx, dialect));
    },
  }),
  endpoint({
    ...post('/v1/messages/count_tokens'),
    ...counting,
    summary: 'Count the tokens of a message',
    headers: versionHeader,
    accepts: { 'application/json': CountBody.meta({ id: 'CountRequest' }) },
    examples: question((model) => ({ model, messages })),
    answers: { 200: { description: 'The count.', content: json(TokenCount) } },
    handler: countTokensRoute<z.input<typeof TokenCount>>(deps, {
      read(ctx, body, reading) {
        demandAnthropicVersion(ctx);
        return readTokenCount(body, reading);
      },
      words: anthropicWords,
      write: (tokens) => ({ input_tokens: tokens }),
    }),
  }),
];

/**
 * Every version of Anthropic's API is answered in one shape: the members of the later versions are added to those of the first. What a
 * client switches on with `anthropic-beta` shows in fields of the body; the names that change nothing but the answer go to Anthropic itself.
 */
const demandAnthropicVersion = (ctx: AppContext) =>
  headerText(ctx, 'anthropic-version', /^20\d\d-\d\d-\d\d$/, 'a date such as 2023-06-01');
