import { GatewayError, quoted } from '../../domain/errors.ts';
import type { AppContext, AppMiddleware } from '../context.ts';
import { anthropicMessage } from '../dialects/anthropic-chat-reply.ts';
import { anthropicWords, readMessages, readTokenCount } from '../dialects/anthropic-chat-request.ts';
import { anthropicStream } from '../dialects/anthropic-chat-stream.ts';
import { answerChat, type ChatDialect, type ChatRouteDeps } from './answer-chat.ts';
import { streamAnswer } from './chat-stream.ts';
import { countTokens } from './count-tokens.ts';

const dialect: ChatDialect = {
  route: '/v1/messages',
  idPrefix: 'msg_',
  read: readMessages,
  clampedField: 'max_tokens',
  isLive: true,
  words: anthropicWords,
  write: anthropicMessage,
  stream: anthropicStream,
};

/** `POST /v1/messages`, as Anthropic's SDKs send it. */
export const messages =
  (deps: ChatRouteDeps): AppMiddleware =>
  async (ctx) => {
    demandVersion(ctx);
    if (ctx.request.body?.['stream'] === true) return streamAnswer(deps, ctx, dialect);
    const text = await answerChat(deps, ctx, dialect);
    ctx.type = 'application/json; charset=utf-8';
    ctx.body = text;
  };

/** `POST /v1/messages/count_tokens`. */
export const countMessageTokens = (deps: ChatRouteDeps): AppMiddleware =>
  countTokens(deps, {
    read(ctx, body, reading) {
      demandVersion(ctx);
      return readTokenCount(body, reading);
    },
    words: anthropicWords,
    write: (tokens) => ({ input_tokens: tokens }),
  });

/**
 * Every version of Anthropic's API is answered in one shape: the members of the later versions are added to those of the first. What a
 * client switches on with `anthropic-beta` shows in fields of the body; the names that change nothing but the answer go to Anthropic itself.
 */
function demandVersion(ctx: AppContext): void {
  const version = ctx.get('anthropic-version');
  if (version === '' || /^20\d\d-\d\d-\d\d$/.test(version)) return;
  const message = `anthropic-version: ${quoted(version)} is not a date such as 2023-06-01.`;
  throw new GatewayError('invalid_value', { message, param: 'anthropic-version' });
}
