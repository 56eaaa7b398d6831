import { z } from 'zod';
import { findNamed } from '../../services/catalog/find-model.ts';
import { GatewayError, quoted } from '../../domain/errors.ts';
import type { AppContext } from '../context.ts';
import { json } from '../description.ts';
import { demandScope } from '../middleware/key-permissions.ts';
import { countRate } from '../rate-limits/limit-rate.ts';
import { geminiResponse } from '../dialects/gemini/gemini-chat-reply.ts';
import { readGeminiChat, readGeminiCount, readV1GeminiChat } from '../dialects/gemini/gemini-chat-request.ts';
import { asGeminiEvents, geminiStream } from '../dialects/gemini/gemini-chat-stream.ts';
import { geminiPictures, readGeminiImage, toCoreImage } from '../dialects/gemini/gemini-image.ts';
import { geminiWords, inGeminiWords } from '../dialects/gemini/gemini-params.ts';
import { withLists } from '../dialects/gemini/gemini-fields.ts';
import { strictly } from '../dialects/reading.ts';
import { asEvents, asJsonArray, type Framing } from '../server/framing.ts';
import { ignoredFields, readingOf, tellIgnored } from '../request/ignored-fields.ts';
import { sendJsonText } from '../request/json-text.ts';
import { geminiCountRequest, geminiRequest, v1GeminiRequest } from '../openapi/gemini-bodies.ts';
import { EventText } from '../openapi/schemas/chat-completion.ts';
import { GeminiResponse, GeminiResponses, GeminiTokens } from '../openapi/schemas/gemini-response.ts';
import { queryAnyText, queryParam, type QueryOf } from '../request/query.ts';
import { endpoint, type Route } from '../route.ts';
import { answerChat, type ChatDialect, type ChatRouteDeps } from './answer-chat.ts';
import { storedEvents, streamAnswer } from './chat-stream.ts';
import {
  answersOrCreates,
  changedHeaders,
  cost,
  costOfWhole,
  counting,
  idempotencyKey,
  modelInPath,
  question,
  questionText,
  replayed,
  streamed,
} from './common-descriptions.ts';
import { chatScope, chatOrMediaScope, postJsonRow, postPartsRow } from './common-rows.ts';
import { countTokensRoute } from './count-tokens.ts';
import type { AnswerPictures } from './picture-answers.ts';

/** A prefix under which the routes are offered, and which rules hold there. */
export interface GeminiMount {
  prefix: string;
  /** The rules of `/v1`: a length above the model's limit is clamped, every chat is streamed live, and all aliases are accepted. */
  isV1: boolean;
}

/** With the wait for pictures, which other routes use too. */
interface Mounted extends GeminiMount {
  answerPictures: AnswerPictures;
}

/** The scope of an Idempotency-Key. Both actions share it under all prefixes, because a key stands for one purchase. */
const keyScopeOf = (isV1: boolean): string =>
  isV1 ? '/v1/models/{model}:generateContent' : '/api/v1beta/models/{model}:generateContent';

const bodyDescription =
  "The fields are Google's, and may also be written in snake_case. Chat models take a conversation, image models one prompt with pictures.";

const generationRow = ({ prefix, isV1 }: GeminiMount, action: string) =>
  ({
    ...(isV1 ? postPartsRow : postJsonRow)(`${prefix}/models/:model\\:${action}`, chatOrMediaScope),
    dialect: 'gemini',
    rate: 'in_handler',
    tag: 'Gemini',
    ...modelInPath('The id of a chat model or an image model.'),
    headers: idempotencyKey,
    accepts: { 'application/json': isV1 ? v1GeminiRequest : geminiRequest },
    examples: question(() => exampleBody),
    errors: answersOrCreates,
  }) as const;

const exampleBody = { contents: [{ role: 'user', parts: [{ text: questionText }] }] };

/**
 * `generateContent` and `streamGenerateContent` under one prefix (spec §4.7). The second sends the answer of the first as one event with
 * `alt=sse`, else as an array of one; models whose catalog entry says `stream: true` are streamed.
 */
export function geminiRoutes(deps: ChatRouteDeps, mount: Mounted): Route[] {
  const answer = answerer(deps, mount);
  // Clients that read nothing but events ask for them everywhere: the answer is one.
  const formats = mount.isV1 ? streamFormats : jsonFormats;
  return [
    endpoint({
      ...generationRow(mount, 'generateContent'),
      summary: 'Generate content',
      description: `An image model answers when the picture is ready, or with 504 and the id of the task.\n\n${bodyDescription}`,
      query: formatQuery(formats),
      answers: {
        200: {
          description: 'The answer.',
          content: { 'application/json': GeminiResponse, ...(mount.isV1 && { 'text/event-stream': EventText }) },
          headers: cost,
          sometimes: { ...replayed, ...changedHeaders },
        },
      },
      async handler(ctx, query) {
        if (geminiFormatOf(query, formats) === 'sse') return sendFramed(ctx, asEvents(), await answer(ctx));
        sendJsonText(ctx, await answer(ctx));
      },
    }),
    endpoint({
      ...generationRow(mount, 'streamGenerateContent'),
      summary: 'Generate content as a stream',
      description: `With \`alt=sse\` the answer is Server-Sent Events, else an array of the same events.\n\n${bodyDescription}`,
      query: formatQuery(streamFormats),
      answers: {
        200: {
          description: 'The answer.',
          content: { 'application/json': GeminiResponses, 'text/event-stream': EventText },
          sometimes: { ...costOfWhole, ...replayed, ...streamed },
        },
      },
      async handler(ctx, query) {
        const model = ctx.params['model'] ?? '';
        const framing = geminiFormatOf(query, streamFormats) === 'sse' ? () => asGeminiEvents(model) : asJsonArray;
        const entry = await findNamed(deps.catalog, model);
        if (entry?.model.type === 'chat' && (mount.isV1 || entry.model.parameters.stream === true)) {
          demandScope(ctx, 'chat');
          return streamAnswer(deps, ctx, { ...chatDialect(model, mount), framing });
        }
        sendFramed(ctx, framing(), await answer(ctx));
      },
    }),
  ];
}

function sendFramed(ctx: AppContext, framed: Framing, answer: string): void {
  ctx.type = framed.contentType;
  ctx.body = Buffer.from(framed.put(storedEvents(answer)) + framed.end);
}

/** `countTokens` under one prefix (https://ai.google.dev/api/tokens, read 2026-11-26). */
export const geminiCountRoute = (deps: ChatRouteDeps, prefix: string): Route => {
  const count = countTokensRoute<z.input<typeof GeminiTokens>>(deps, {
    read: (ctx, body, reading) => readGeminiCount(ctx.params['model'] ?? '', body, reading),
    words: geminiWords,
    write: (tokens) => ({ totalTokens: tokens, promptTokensDetails: [{ modality: 'TEXT', tokenCount: tokens }] }),
  });
  return endpoint({
    ...postPartsRow(`${prefix}/models/:model\\:countTokens`, chatScope),
    dialect: 'gemini',
    ...counting,
    tag: 'Gemini',
    summary: 'Count the tokens of contents',
    ...modelInPath('The id of a chat model.'),
    query: formatQuery(jsonFormats),
    accepts: { 'application/json': geminiCountRequest },
    examples: question(() => exampleBody),
    answers: { 200: { description: 'The count.', content: json(GeminiTokens) } },
    handler(ctx, query) {
      geminiFormatOf(query);
      return count(ctx);
    },
  });
};

/** Google's REST transport sends the second one. The answers have the names of enumerations all the same, which it reads, too. */
export const jsonFormats: readonly string[] = ['json', 'json;enum-encoding=int'];
const streamFormats = [...jsonFormats, 'sse'];

/**
 * What Google's clients send (https://cloud.google.com/apis/docs/system-parameters): the format of the answer, and whether it is
 * indented, which is taken and has no effect.
 */
export function formatQuery(formats: readonly string[]) {
  const format = queryParam('The format of the answer.', z.string().meta({ enum: [...formats] }));
  const prettyPrint = queryAnyText('Has no effect.');
  return { alt: format, $alt: format, prettyPrint, $prettyPrint: prettyPrint };
}

/** The format that the client wants. Throws `invalid_value` for one that the route does not write, so each route calls it before it buys. */
export function geminiFormatOf({ alt, $alt }: QueryOf<ReturnType<typeof formatQuery>>, formats = jsonFormats): string {
  const [format = 'json', other = format] = [alt, $alt].filter((name) => name !== undefined);
  if (formats.includes(format) && other === format) return format;
  const message = formats.includes(format)
    ? 'alt and $alt are the same setting and must not differ.'
    : `alt: ${quoted(format)} is not supported here; supported are ${formats.join(' and ')}.`;
  throw new GatewayError('invalid_value', { message, param: 'alt' });
}

/** Decides by the model's type: for an image model it creates a task and waits for it; any other model is handled as a chat. */
function answerer(deps: ChatRouteDeps, mount: Mounted): (ctx: AppContext) => Promise<string> {
  return async (ctx) => {
    const model = ctx.params['model'] ?? '';
    const entry = await findNamed(deps.catalog, model, { allAliases: mount.isV1 });
    if (entry) demandScope(ctx, entry.model.type === 'chat' ? 'chat' : 'media');
    if (entry?.model.type !== 'image') return answerChat(deps, ctx, chatDialect(model, mount));
    await countRate(deps, ctx);
    return answerImage(ctx, model, mount);
  };
}

const chatDialect = (model: string, { isV1 }: GeminiMount): ChatDialect => ({
  route: keyScopeOf(isV1),
  read: (body, reading) => (isV1 ? readV1GeminiChat(model, body, reading) : readGeminiChat(model, body)),
  ...(isV1 ? { clampedField: 'generationConfig.maxOutputTokens', isLive: true } : { isOfSpec: true }),
  words: geminiWords,
  write: geminiResponse,
  stream: (about) => geminiStream({ ...about, includeUsage: true }),
});

/** The body of a request for pictures, and how to read it. The routes of the specification take neither a value for a list nor unknown fields. */
export function pictureBodyOf(ctx: AppContext, isV1: boolean) {
  const { body = {} } = ctx.request;
  return isV1 ? { body: withLists(body), reading: readingOf(ctx) } : { body, reading: strictly };
}

async function answerImage(ctx: AppContext, model: string, { isV1, answerPictures }: Mounted): Promise<string> {
  const { body, reading } = pictureBodyOf(ctx, isV1);
  const request = readGeminiImage(body, reading);
  const text = await answerPictures(ctx, {
    dialect: 'gemini',
    route: keyScopeOf(isV1),
    body: { ...body, model },
    coreBody: (entry, preset) => ({ ...preset, ...toCoreImage(request, entry) }),
    inItsWords: inGeminiWords,
    isInline: true,
    allAliases: isV1,
    write: ({ task, pictures }) => geminiPictures({ taskId: task.id, model, pictures }),
  });
  tellIgnored(ctx, ignoredFields(request.leftOut, geminiWords));
  return text;
}
