import { readOutputs } from '../../commands/files/read-outputs.ts';
import { waitForTask } from '../../commands/tasks/wait-for-task.ts';
import { GatewayError, quoted } from '../../domain/errors.ts';
import { taskRefusal } from '../../domain/task-refusal.ts';
import { isTerminal } from '../../domain/task.ts';
import { createFairBudget, type Share } from '../../platform/fair-budget.ts';
import { keyOf, type AppContext, type AppMiddleware } from '../context.ts';
import { demandScope } from '../middleware/key-permissions.ts';
import { countRate } from '../rate-limits/count-rate.ts';
import { geminiResponse } from '../dialects/gemini-chat-reply.ts';
import { readGeminiChat } from '../dialects/gemini-chat-request.ts';
import { geminiStream } from '../dialects/gemini-chat-stream.ts';
import { geminiPictures, readGeminiImage, toCoreImage } from '../dialects/gemini-image.ts';
import { inGeminiWords } from '../dialects/gemini-params.ts';
import { asEvents, asJsonArray } from '../framing.ts';
import { readIdempotencyKey } from '../idempotency-key.ts';
import { queryValue } from '../query.ts';
import { cutOffSlowReader } from '../slow-reader.ts';
import { answerChat, type ChatDialect, type ChatRouteDeps } from './answer-chat.ts';
import { storedEvents, streamAnswer } from './chat-stream.ts';
import { createTask } from './media.ts';

type GeminiDeps = ChatRouteDeps &
  Parameters<typeof createTask>[0] &
  Parameters<typeof waitForTask>[0] &
  Parameters<typeof readOutputs>[0];

/** The scope of an Idempotency-Key. Both actions share it, because a key stands for one purchase. */
const keyScope = '/api/v1beta/models/{model}:generateContent';

/**
 * `POST /api/v1beta/models/{model}:generateContent` and `:streamGenerateContent` (spec §4.7). The second sends the answer of the first
 * as one event with `alt=sse`, else as an array of one; models whose catalog entry says `stream: true` are streamed. Whole answers are
 * buffers, because a string would be in the heap and a second time in the socket until a slow client has read it.
 */
export function geminiGeneration(deps: GeminiDeps): { generate: AppMiddleware; stream: AppMiddleware } {
  const answer = answerer(deps);
  return {
    async generate(ctx) {
      demandAlt(ctx, jsonFormats);
      const text = await answer(ctx);
      ctx.type = 'application/json; charset=utf-8';
      ctx.body = Buffer.from(text);
    },
    async stream(ctx) {
      const framing = demandAlt(ctx, [...jsonFormats, 'sse']) === 'sse' ? asEvents : asJsonArray;
      const model = ctx.params['model'] ?? '';
      const entry = await deps.catalog.find(model);
      if (entry?.model.parameters.stream === true) {
        demandScope(ctx, 'chat');
        return streamAnswer(deps, ctx, { ...chatDialect(model), framing });
      }
      const framed = framing();
      const events = storedEvents(await answer(ctx));
      ctx.type = framed.contentType;
      ctx.body = Buffer.from(framed.put(events) + framed.end);
    },
  };
}

/** The second one is sent by Google's REST transport. The answers have no enumerations with numbers. */
const jsonFormats = ['json', 'json;enum-encoding=int'];

/** The format that the client asks for, before anything is bought. Throws `invalid_value` for one that the route does not write. */
function demandAlt(ctx: AppContext, formats: readonly string[]): string {
  const [format = 'json', other = format] = ['alt', '$alt'].flatMap((name) => queryValue(ctx, name) ?? []);
  if (formats.includes(format) && other === format) return format;
  const message = `alt: ${quoted(format)} is not supported here; supported are ${formats.join(' and ')}.`;
  throw new GatewayError('invalid_value', { message, param: 'alt' });
}

/** Decides by the model's type: for an image model it creates a task and waits for it; any other model is handled as a chat. */
function answerer(deps: GeminiDeps): (ctx: AppContext) => Promise<string> {
  const inlined = createFairBudget({
    total: deps.config.gemini.inlineBufferedMaxBytes,
    message: 'The server is sending too many inline images at the same time. Try again in a few seconds.',
  });
  const waits = createFairBudget({
    total: deps.config.gemini.waitsMax,
    message: 'Too many requests wait for an image. Try again in a few seconds.',
    retryAfterSeconds: 5,
  });
  return async (ctx) => {
    const model = ctx.params['model'] ?? '';
    const entry = await deps.catalog.find(model);
    if (entry) demandScope(ctx, entry.model.type === 'chat' ? 'chat' : 'media');
    if (entry?.model.type !== 'image') {
      return answerChat(deps, ctx, chatDialect(model));
    }
    await countRate(deps, ctx);
    // A waiting request occupies an in-flight place for minutes. Waiting requests must not take all places.
    const { projectId } = keyOf(ctx);
    const wait = waits.open(projectId);
    wait.take(1);
    const memory = inlined.open(projectId);
    try {
      return await answerPictures(deps, ctx, model, memory);
    } finally {
      wait.release();
      releaseWithAnswer(ctx, memory);
    }
  };
}

const chatDialect = (model: string): ChatDialect => ({
  route: keyScope,
  read: (body) => readGeminiChat(model, body),
  inItsWords: inGeminiWords,
  write: geminiResponse,
  stream: (about) => geminiStream({ ...about, includeUsage: true }),
});

/** Counts the answer until the client has read it or has disconnected, because it stays in memory after the handler ends. */
function releaseWithAnswer({ res }: AppContext, memory: Share): void {
  if (res.closed) memory.release();
  else res.once('close', () => memory.release());
  cutOffSlowReader(res);
}

/** The most memory of an inlined picture: its bytes while it is read, then the answer with its base64. */
const bytesOfInlined = (bytes: number): number => bytes + 4 * Math.ceil(bytes / 3);

async function answerPictures(deps: GeminiDeps, ctx: AppContext, model: string, memory: Share): Promise<string> {
  const { config } = deps;
  const idempotencyKey = readIdempotencyKey(ctx);
  const body = ctx.request.body ?? {};
  const asked = readGeminiImage(body);
  const task = await createTask(deps, ctx, {
    dialect: 'gemini',
    type: 'image',
    route: keyScope,
    idempotencyKey,
    body: { ...body, model },
    coreBody: (entry) => toCoreImage(asked, entry),
  }).catch((error: unknown) => {
    throw inGeminiWords(error);
  });

  const ended = await waitForTask(deps, task, { seconds: config.gemini.waitSeconds, signal: whenGone(ctx) });
  const taskId = task.id;
  if (!isTerminal(ended.status)) {
    const message = `The image is not ready yet. The task ${taskId} continues and is charged when it succeeds. Poll the task, or send the same request with the same Idempotency-Key.`;
    throw new GatewayError('upstream_timeout', { message, shouldRetry: false, taskId });
  }
  if (ended.status !== 'succeeded') throw taskRefusal(ended, idempotencyKey === null);

  const pictures = await readOutputs(deps, ended.output ?? [], {
    bytesMax: config.gemini.inlineMaxBytes,
    mayHold: (bytes) => memory.mayTake(bytesOfInlined(bytes)),
  }).catch((cause: unknown) => {
    // The task is charged. Without an Idempotency-Key a retry would buy a second one.
    const shouldRetry = idempotencyKey === null ? false : undefined;
    throw new GatewayError('service_unavailable', { cause, shouldRetry, taskId });
  });
  if (!pictures || pictures.length === 0) throw new GatewayError('idempotency_result_gone', { taskId });
  ctx.set('x-tollgate-credits', String(ended.credits.charged));
  ctx.set('x-tollgate-attempts', String(ended.attempts));
  return JSON.stringify(geminiPictures({ taskId, model, pictures }));
}

/** Fires when the client has disconnected. */
function whenGone(ctx: AppContext): AbortSignal {
  const gone = new AbortController();
  ctx.res.once('close', () => gone.abort());
  if (ctx.res.closed) gone.abort();
  return gone.signal;
}
