import { findNamed } from '../../services/catalog/find-model.ts';
import { GatewayError, quoted } from '../../domain/errors.ts';
import type { AppContext, AppMiddleware } from '../context.ts';
import { demandScope } from '../middleware/key-permissions.ts';
import { countRate } from '../rate-limits/count-rate.ts';
import { geminiResponse } from '../dialects/gemini-chat-reply.ts';
import { readGeminiChat, readGeminiCount, readV1GeminiChat } from '../dialects/gemini-chat-request.ts';
import { geminiStream } from '../dialects/gemini-chat-stream.ts';
import { geminiPictures, readGeminiImage, toCoreImage } from '../dialects/gemini-image.ts';
import { geminiWords, inGeminiWords } from '../dialects/gemini-params.ts';
import { strictly } from '../dialects/reading.ts';
import { asEvents, asJsonArray } from '../server/framing.ts';
import { ignoredFields, readingOf, tellIgnored } from '../request/ignored-fields.ts';
import { sendJsonText } from '../request/json-text.ts';
import { queryValue } from '../request/query.ts';
import { answerChat, type ChatDialect, type ChatRouteDeps } from './answer-chat.ts';
import { storedEvents, streamAnswer } from './chat-stream.ts';
import { countTokens } from './count-tokens.ts';
import { proxyWaitSeconds, type AnswerPictures } from './picture-answers.ts';

/** Where the two routes stand, and what they share with other routes. */
interface GeminiMount {
  /** The scope of an Idempotency-Key. Both actions share it, because a key stands for one purchase. */
  keyScope: string;
  /** Whether a length above what the model writes is clamped, every chat is streamed live and every alias counts, as under `/v1`. */
  isV1: boolean;
  answerPictures: AnswerPictures;
}

/**
 * `POST /api/v1beta/models/{model}:generateContent` and `:streamGenerateContent` (spec §4.7). The second sends the answer of the first
 * as one event with `alt=sse`, else as an array of one; models whose catalog entry says `stream: true` are streamed.
 */
export const geminiGeneration = (deps: ChatRouteDeps, answerPictures: AnswerPictures): GeminiHandlers =>
  generation(deps, { keyScope: '/api/v1beta/models/{model}:generateContent', isV1: false, answerPictures });

/** The same for clients whose base URL has no `/api`. */
export const v1GeminiGeneration = (deps: ChatRouteDeps, answerPictures: AnswerPictures): GeminiHandlers =>
  generation(deps, { keyScope: '/v1/models/{model}:generateContent', isV1: true, answerPictures });

/** `POST /v1beta/models/{model}:countTokens` (https://ai.google.dev/api/tokens, read 2026-11-26). */
export const countGeminiTokens = (deps: ChatRouteDeps): AppMiddleware =>
  countTokens(deps, {
    read(ctx, body, reading) {
      demandJson(ctx);
      return readGeminiCount(ctx.params['model'] ?? '', body, reading);
    },
    words: geminiWords,
    write: (tokens) => ({ totalTokens: tokens, promptTokensDetails: [{ modality: 'TEXT', tokenCount: tokens }] }),
  });

export interface GeminiHandlers {
  generate: AppMiddleware;
  stream: AppMiddleware;
}

function generation(deps: ChatRouteDeps, mount: GeminiMount): GeminiHandlers {
  const answer = answerer(deps, mount);
  return {
    async generate(ctx) {
      demandJson(ctx);
      sendJsonText(ctx, await answer(ctx));
    },
    async stream(ctx) {
      const framing = demandAlt(ctx, [...jsonFormats, 'sse']) === 'sse' ? asEvents : asJsonArray;
      const model = ctx.params['model'] ?? '';
      const entry = await findNamed(deps, model);
      if (entry?.model.type === 'chat' && (mount.isV1 || entry.model.parameters.stream === true)) {
        demandScope(ctx, 'chat');
        return streamAnswer(deps, ctx, { ...chatDialect(model, mount), framing });
      }
      const framed = framing();
      const events = storedEvents(await answer(ctx));
      ctx.type = framed.contentType;
      ctx.body = Buffer.from(framed.put(events) + framed.end);
    },
  };
}

/** Throws `invalid_value` if the client asks for another format than JSON. */
export function demandJson(ctx: AppContext): void {
  demandAlt(ctx, jsonFormats);
}

/** The second one is sent by Google's REST transport. The answers have no enumerations with numbers. */
const jsonFormats = ['json', 'json;enum-encoding=int'];

/** The format that the client asks for, before anything is bought. Throws `invalid_value` for one that the route does not write. */
function demandAlt(ctx: AppContext, formats: readonly string[]): string {
  const [format = 'json', other = format] = ['alt', '$alt'].flatMap((name) => queryValue(ctx, name) ?? []);
  if (formats.includes(format) && other === format) return format;
  const message = formats.includes(format)
    ? 'alt and $alt are the same setting and must not differ.'
    : `alt: ${quoted(format)} is not supported here; supported are ${formats.join(' and ')}.`;
  throw new GatewayError('invalid_value', { message, param: 'alt' });
}

/** Decides by the model's type: for an image model it creates a task and waits for it; any other model is handled as a chat. */
function answerer(deps: ChatRouteDeps, mount: GeminiMount): (ctx: AppContext) => Promise<string> {
  return async (ctx) => {
    const model = ctx.params['model'] ?? '';
    const entry = await findNamed(deps, model, { allAliases: mount.isV1 });
    if (entry) demandScope(ctx, entry.model.type === 'chat' ? 'chat' : 'media');
    if (entry?.model.type !== 'image') return answerChat(deps, ctx, chatDialect(model, mount));
    await countRate(deps, ctx);
    return answerImage(ctx, model, mount);
  };
}

const chatDialect = (model: string, { keyScope, isV1 }: GeminiMount): ChatDialect => ({
  route: keyScope,
  read: (body, reading) => (isV1 ? readV1GeminiChat(model, body, reading) : readGeminiChat(model, body)),
  ...(isV1 ? { clampedField: 'generationConfig.maxOutputTokens', isLive: true } : { isOfSpec: true }),
  words: geminiWords,
  write: geminiResponse,
  stream: (about) => geminiStream({ ...about, includeUsage: true }),
});

async function answerImage(
  ctx: AppContext,
  model: string,
  { keyScope, isV1, answerPictures }: GeminiMount,
): Promise<string> {
  const body = ctx.request.body ?? {};
  const request = readGeminiImage(body, isV1 ? readingOf(ctx) : strictly);
  const text = await answerPictures(ctx, {
    dialect: 'gemini',
    route: keyScope,
    body: { ...body, model },
    coreBody: (entry, preset) => ({ ...preset, ...toCoreImage(request, entry) }),
    inItsWords: inGeminiWords,
    isInline: true,
    allAliases: isV1,
    ...(isV1 && { waitMaxSeconds: proxyWaitSeconds }),
    write: ({ task, pictures }) => geminiPictures({ taskId: task.id, model, pictures }),
  });
  tellIgnored(ctx, ignoredFields(request.leftOut, geminiWords));
  return text;
}
