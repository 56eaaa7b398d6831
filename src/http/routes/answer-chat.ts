import type { z } from 'zod';
import type { ChatDeps, ChatInput } from '../../services/chat/chat-input.ts';
import { completeChat, mayTakeLong } from '../../services/chat/complete-chat.ts';
import { measuredDocuments, prepareChat, type PreparedChat } from '../../services/chat/prepare-chat.ts';
import { findModelFor } from '../../services/catalog/find-model.ts';
import { findStoredAnswer, sealAnswer, type StoredAnswer } from '../../services/chat/idempotent-chat.ts';
import type { CatalogEntry } from '../../domain/catalog/catalog.ts';
import type { ChatRequest } from '../../domain/chat/chat.ts';
import { clampLength } from '../../domain/chat/chat-length.ts';
import { GatewayError } from '../../domain/errors.ts';
import type { JsonObject } from '../../domain/json.ts';
import { fingerprintOf } from '../../platform/json-pieces.ts';
import { within } from '../../platform/pause.ts';
import { keyOf, noteModelIn, type AppContext } from '../context.ts';
import type { ChatAnswer } from '../dialects/chat-answer.ts';
import { inWords, type DialectWords } from '../dialects/dialect-words.ts';
import type { Reading } from '../dialects/reading.ts';
import type { AnthropicMessage } from '../openapi/schemas/anthropic-message.ts';
import type { ChatCompletion } from '../openapi/schemas/chat-completion.ts';
import type { GeminiResponse } from '../openapi/schemas/gemini-response.ts';
import type { OpenaiResponse } from '../openapi/schemas/openai-response.ts';
import { ignoredFields, readingOf, tellIgnored, withWarning } from '../request/ignored-fields.ts';
import type { ChatStreamWriter, StreamAbout } from '../dialects/chat-stream-writer.ts';
import { LARGE_BYTES } from '../response/write-body.ts';
import { whenEnded, whenGone, whenLost } from '../server/client-gone.ts';
import type { Framing } from '../server/framing.ts';
import type { FairBudget } from '../../platform/fair-budget.ts';
import { readIdempotencyKey } from '../request/idempotency-key.ts';
import { sessionIdOf } from '../request/session-header.ts';
import { countRate, setRateHeaders, type RateDeps } from '../rate-limits/limit-rate.ts';

type StoredAnswerDeps = Parameters<typeof findStoredAnswer>[0];
export type ChatRouteDeps = ChatDeps &
  RateDeps &
  StoredAnswerDeps & {
    /** Answers that are streamed at the same time. */
    streamSlots: FairBudget;
  };

/** How one dialect reads requests and writes answers. */
export interface ChatDialect {
  /** The route's template, part of the scope of an Idempotency-Key and of the fingerprint. */
  route: string;
  read(body: JsonObject, reading: Reading): ChatRequest;
  /**
   * On routes under `/v1`: the client's name of the field with the length of the answer. More than the model writes is clamped there and
   * named in `x-tollgate-clamped`.
   */
  clampedField?: string;
  /** A route of the specification, which answers as it always did. */
  isOfSpec?: true;
  /** Streams every model as its provider writes, as under `/v1`. Otherwise the catalog entry's `stream` decides (spec §2.3). */
  isLive?: boolean;
  /** The beginning of the answer's id. By default OpenAI's. */
  idPrefix?: string;
  /** This dialect's names of the fields that the shared checks refuse or leave out. By default they are the checks' own. */
  words?: DialectWords;
  write(answer: ChatAnswer): WrittenChat;
  /** Writes a streamed answer. */
  stream(about: Omit<StreamAbout, 'includeUsage'>): ChatStreamWriter;
  /** How the events of a streamed answer are sent, if not as they are. */
  framing?: () => Framing;
}

/** The whole answer of a chat in one of the dialects. */
type WrittenChat = z.input<
  typeof AnthropicMessage | typeof ChatCompletion | typeof GeminiResponse | typeof OpenaiResponse
>;

/** A chat that was read, counted and checked. */
export interface BegunChat {
  /** Everything but how its answer is written. */
  input: Omit<ChatInput, 'render'>;
  /** What every event and object of the answer says. */
  about: Omit<StreamAbout, 'includeUsage'>;
  /** The stored answer of an earlier request with the same Idempotency-Key. */
  replayed: () => Promise<StoredAnswer | null>;
}

/**
 * Order: rate, idempotency look-up, validation, and without an Idempotency-Key the look-up of a lost chat where `takesLost`; the admission comes
 * later. Without an Idempotency-Key the admission counts the rate in the same call; middleware counts a request that is refused earlier.
 */
export async function beginChat(
  deps: ChatRouteDeps,
  ctx: AppContext,
  dialect: ChatDialect,
  { takesLost = false } = {},
): Promise<BegunChat | { stored: StoredAnswer }> {
  const key = keyOf(ctx);
  const body = ctx.request.body ?? {};
  const idempotencyKey = readIdempotencyKey(ctx);
  const idempotency =
    idempotencyKey === null
      ? null
      : { route: dialect.route, key: idempotencyKey, fingerprint: await fingerprintOf(ctx.path, body) };
  const replayed = async (): Promise<StoredAnswer | null> =>
    idempotency && findStoredAnswer(deps, { projectId: key.projectId, ...idempotency });
  if (idempotency) {
    await countRate(deps, ctx);
    const stored = await replayed();
    if (stored !== null) return { stored };
  }
  deps.retryBudget.note();
  const { prepared, clamped } = await prepare(deps, ctx, dialect, body);
  tellClamped(ctx, clamped);
  const lost = takesLost && !idempotency && deps.lostChats.mayHave(key) ? await takeLost(deps, ctx, body) : null;
  if (lost) return { stored: lost };
  const { requestId } = ctx.state;
  const { likelyInputTokens, inputTokens } = prepared.hold;
  return {
    replayed,
    about: {
      id: `${dialect.idPrefix ?? 'chatcmpl-'}${requestId.replace(/^req_/, '')}`,
      requestId,
      created: Math.floor(Date.now() / 1000),
      model: prepared.request.model,
      ...(!dialect.isOfSpec && { ownedBy: prepared.entry.model.owned_by }),
      inputTokens: Math.min(likelyInputTokens, inputTokens),
    },
    input: {
      requestId,
      key,
      prepared,
      sessionId: sessionIdOf(ctx.req.headers),
      rateCounted: ctx.state.rateCounted === true,
      idempotency,
      onRate: (rate) => {
        ctx.state.rateCounted = true;
        setRateHeaders(ctx, key.rpm ?? 0, rate);
      },
      hasLeft: () => ctx.res.closed,
      sealAnswer: (text, { leftOut }) =>
        sealAnswer(deps, requestId, { body: text, clamped, ignored: ignoredFields(leftOut, dialect.words) }),
    },
  };
}

/**
 * Answers one chat in a dialect; returns the body as text. If the client of a chat without an Idempotency-Key does not get the whole answer,
 * the answer goes to its next equal request.
 */
export async function answerChat(deps: ChatRouteDeps, ctx: AppContext, dialect: ChatDialect): Promise<string> {
  const begun = await beginChat(deps, ctx, dialect, { takesLost: true });
  if ('stored' in begun) return asReplay(ctx, begun.stored);
  const { input, about } = begun;
  if (mayTakeLong(input)) letSocketWait(ctx, deps.config.chat);
  const completed = await completeChat(deps, {
    ...input,
    ...(input.idempotency === null && { keepIfLost: keepIfLost(deps, ctx, input) }),
    render: (answer) => ({
      body: JSON.stringify(dialect.write({ ...withWarning(answer, dialect.words), ...about })),
    }),
  }).catch((error: unknown) => {
    throw inWords(dialect.words ?? {}, error);
  });
  if (completed === 'replay') return asReplay(ctx, await storedNow(begun));
  tellCost(ctx, completed.answered);
  tellIgnored(ctx, ignoredFields(completed.answered.leftOut, dialect.words));
  return completed.body;
}

/** What equal requests share. Their bodies are compared as they were read, which leaves out what has no effect. */
const unkeyedOf = async (ctx: AppContext, body: JsonObject) => ({
  ...keyOf(ctx),
  fingerprint: await fingerprintOf(ctx.path, body),
});

/** The answer of an equal chat that lost its client. If this client is lost as well, the answer goes to the next equal request. */
async function takeLost(deps: ChatRouteDeps, ctx: AppContext, body: JsonObject): Promise<StoredAnswer | null> {
  await countRate(deps, ctx);
  letSocketWait(ctx, deps.config.chat);
  const unkeyed = await unkeyedOf(ctx, body);
  const taken = await deps.lostChats.take(unkeyed, whenGone(ctx));
  if (!taken) return null;
  whenEnded(ctx, (isDelivered) => deps.lostChats.leave(unkeyed, { requestId: taken.requestId, isDelivered }));
  return taken;
}

/** Notes a chat as soon as it has lost its client, so that a repetition waits for it, and later its answer. */
function keepIfLost(
  deps: ChatRouteDeps,
  ctx: AppContext,
  { requestId, sealAnswer: seal }: Pick<ChatInput, 'requestId' | 'sealAnswer'>,
): NonNullable<ChatInput['keepIfLost']> {
  let body = ctx.request.body ?? {};
  let unkeyed: ReturnType<typeof unkeyedOf> | undefined;
  let sealed = (): string | null => null;
  const hashed = () => (unkeyed ??= unkeyedOf(ctx, body));
  const note = (): Promise<void> =>
    deps.lostChats.note(keyOf(ctx).keyId, async () => ({ unkeyed: await hashed(), requestId, answer: sealed() }));
  whenLost(ctx, note);
  return async (text, answer) => {
    // What cost nothing is asked anew.
    if (answer.credits > 0) sealed = () => seal(text, answer);
    if (ctx.res.closed) return void (await within(noteWaitMs, note()));
    if (text.length < LARGE_BYTES) return;
    // A slow client must not keep its request in memory while it reads its answer.
    await hashed();
    body = {};
  };
}
/** A settlement waits no longer for the note. */
const noteWaitMs = 1_000;

/** Node would close a connection that is silent for three minutes. It sets its limit anew with the next request. */
function letSocketWait({ req }: AppContext, { deadlineSeconds, streamSeconds }: ChatRouteDeps['config']['chat']): void {
  req.socket.setTimeout((deadlineSeconds + streamSeconds + 60) * 1_000);
}

/** The answer of the request that was admitted before this one with the same Idempotency-Key. */
export async function storedNow({ replayed }: BegunChat): Promise<StoredAnswer> {
  const stored = await replayed();
  // The key expired between the two reads: sent again, it is a new request.
  if (!stored) throw new GatewayError('idempotency_in_progress', { retryAfterSeconds: 1 });
  return stored;
}

async function prepare(
  deps: ChatRouteDeps,
  ctx: AppContext,
  dialect: ChatDialect,
  body: JsonObject,
): Promise<{ prepared: PreparedChat; clamped: string | null }> {
  const { traceContent } = keyOf(ctx);
  const clientRequest: ChatRequest = {
    ...dialect.read(body, readingOf(ctx)),
    ...(dialect.isOfSpec && { isOfSpec: dialect.isOfSpec }),
    ...(traceContent !== null && { traceContent }),
  };
  const entry = await findModelFor(deps, clientRequest.model, keyOf(ctx), { noteModel: noteModelIn(ctx) });
  try {
    const { request, clamped } = withinLength(dialect, entry, clientRequest);
    const measured = await measuredDocuments(deps, { entry, request, key: keyOf(ctx) });
    return { prepared: prepareChat(deps, entry, measured), clamped };
  } catch (error) {
    throw inWords(dialect.words ?? {}, error);
  }
}

/** The request that is sent, and how its length was clamped: the field and its new value. */
function withinLength(
  { clampedField }: ChatDialect,
  entry: CatalogEntry,
  clientRequest: ChatRequest,
): { request: ChatRequest; clamped: string | null } {
  if (clampedField === undefined) return { request: clientRequest, clamped: null };
  const { request, isClamped } = clampLength(clientRequest, entry);
  return { request, clamped: isClamped ? `${clampedField}=${request.maxTokens}` : null };
}

function tellClamped(ctx: AppContext, clamped: string | null): void {
  if (clamped !== null) ctx.set('x-tollgate-clamped', clamped);
}

/** Replays the stored body, with the credits, the attempts and the changes of the original answer: it was charged once. */
export function asReplay(ctx: AppContext, stored: StoredAnswer): string {
  ctx.set('Idempotent-Replayed', 'true');
  tellClamped(ctx, stored.clamped);
  tellIgnored(ctx, stored.ignored);
  tellCost(ctx, stored);
  return stored.body;
}

export function tellCost(ctx: AppContext, { credits, attempts }: { credits: number; attempts: number }): void {
  ctx.set('x-tollgate-credits', String(credits));
  ctx.set('x-tollgate-attempts', String(attempts));
}
