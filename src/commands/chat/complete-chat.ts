import type { Adapter, Upstream } from '../../channels/channel.ts';
import { nothingCharged, type AttemptEnding, type ChatEnd } from '../../db/chat-ledger.ts';
import type { RateState } from '../../db/rate-limiter.ts';
import type { ChannelRow } from '../../db/channels.ts';
import type { Deps } from '../../deps.ts';
import type { CatalogEntry, UpstreamMapping } from '../../domain/catalog.ts';
import { toUpstreamChat, checkChatModel, type ChatReply, type ChatRequest } from '../../domain/chat.ts';
import {
  chatHold,
  checkContext,
  heldCredits,
  settledCredits,
  settledUsage,
  type ChatHold,
} from '../../domain/chat-hold.ts';
import { familiesTaking } from '../../domain/chat-supports.ts';
import { GatewayError } from '../../domain/errors.ts';
import { drawOrder, firstToReopen, listServing } from '../../domain/routing.ts';
import type { Attempt } from '../../domain/upstream.ts';
import { crashPoint } from '../../platform/crash-point.ts';
import { newId } from '../../platform/crypto/ids.ts';
import { pause } from '../../platform/pause.ts';
import { usableCredential } from '../channels/open-credential.ts';
import type { RetryBudget } from './retry-budget.ts';

export type ChatDeps = Pick<
  Deps,
  'config' | 'chatLedger' | 'catalog' | 'channels' | 'adapters' | 'sealer' | 'logger' | 'metrics'
> & { retryBudget: RetryBudget };

export interface ChatKey {
  keyId: string;
  projectId: string;
  models: string[] | null;
  rpm: number | null;
}

export interface PreparedChat {
  entry: CatalogEntry;
  request: ChatRequest;
  hold: ChatHold;
  /** Credits for the worst case. */
  credits: number;
  /** Adapter families that can take the request. */
  families: string[];
}

/** Everything that can be refused before anything is held: the model, what its channels can take, its context. */
export function prepareChat(
  { adapters }: Pick<Deps, 'adapters'>,
  entry: CatalogEntry,
  request: ChatRequest,
): PreparedChat {
  checkChatModel(entry.model, request);
  const hold = chatHold(request, entry.private.image_tokens);
  checkContext(entry, hold);
  const families = familiesTaking(
    Object.keys(entry.private.upstream),
    (family) => adapters[family]?.chatSupports,
    request,
  );
  return { entry, request, hold, credits: heldCredits(entry.model.pricing, hold), families };
}

export interface ChatInput {
  requestId: string;
  key: ChatKey;
  prepared: PreparedChat;
  /** This request's rate was counted before. */
  rateCounted: boolean;
  idempotency: { route: string; key: string; fingerprint: string } | null;
  /** The dialect's answer, sealed for a replay where an Idempotency-Key was sent. */
  render: (answer: ChatAnswered) => { body: string };
  /** Seals a body for its row; null when it is too large to keep. */
  sealAnswer: (body: string) => string | null;
  onRate: (rate: RateState) => void;
}

export interface ChatAnswered {
  reply: ChatReply;
  usage: { input: number; output: number };
  credits: number;
  attempts: number;
}

/**
 * One chat, from hold to settlement: admission with the first attempt's row in one call, the upstream call, settlement in
 * one call; the answer leaves only after its settlement has committed. Throws the `GatewayError` that says what went wrong,
 * after everything held was given back.
 */
export async function completeChat(
  deps: ChatDeps,
  input: ChatInput,
): Promise<{ body: string; answered: ChatAnswered } | 'replay'> {
  const { config } = deps;
  const deadline = performance.now() + config.CHAT_DEADLINE_SECONDS * 1000;
  const order = await drawChannels(deps, input.prepared);
  const [first] = order;
  if (!first) throw new Error('the draw is never empty');
  const attemptId = newId('att');
  const admitting = deps.chatLedger.admit({
    requestId: input.requestId,
    projectId: input.key.projectId,
    keyId: input.key.keyId,
    rpm: input.rateCounted ? null : input.key.rpm,
    modelId: input.prepared.entry.model.id,
    credits: input.prepared.credits,
    holdSeconds: config.CHAT_DEADLINE_SECONDS + config.CHAT_HOLD_EXTRA_SECONDS,
    attemptId,
    channelId: first.id,
    channelName: first.name,
    idempotency: input.idempotency && { ...input.idempotency, keptSeconds: config.IDEMPOTENCY_SECONDS },
  });
  const admission = await admitting.catch((error: unknown) => {
    // Not waited for: what ails the database would ail this call, too.
    void deps.channels.release(first, input.prepared.entry.model.id);
    throw error;
  });
  if (admission.rate) input.onRate(admission.rate);
  if (admission.verdict.kind !== 'admitted') await deps.channels.release(first, input.prepared.entry.model.id);
  if (admission.verdict.kind === 'replay') return 'replay';
  if (admission.verdict.kind === 'refused') {
    const { code } = admission.verdict;
    throw new GatewayError(code, { retryAfterSeconds: admission.retryAfterSeconds ?? retryAfterOf(code) });
  }
  const progress: Progress = { attemptId, attempt: null };
  const tried = await orGiveBack(deps, input, progress, () => tryChannels(deps, input, order, progress, deadline));
  if (tried.attempt.kind !== 'ok') {
    await settlePatiently(deps, {
      ...nothingCharged(input.requestId, tried.channel.id),
      attempt: endingOf(tried.attemptId, tried.attempt),
    });
    throw refusalOf(tried.attempt);
  }
  const reply = tried.attempt.value;
  const { end, ...answer } = await orGiveBack(deps, input, progress, () => billed(deps, input, tried, reply));
  crashPoint('chat_after_upstream_before_settle');
  await settlePatiently(deps, end);
  return answer;
}

/** The attempt that runs or ran last, and what came of it. */
interface Progress {
  attemptId: string;
  attempt: Attempt<unknown> | null;
}

/** How long the client waits for its refund to be written; it is written all the same. */
const giveBackMs = 1_000;

/** Where our own trouble ends a chat, its hold need not wait for its expiry, nor its place in flight and its idempotency key. */
async function orGiveBack<T>(
  deps: ChatDeps,
  { requestId }: ChatInput,
  progress: Progress,
  work: () => T | Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { attemptId, attempt } = progress;
    const ending: AttemptEnding = attempt
      ? endingOf(attemptId, attempt)
      : { attemptId, outcome: 'unknown', errorClass: null, status: null, detail: 'our own trouble ended this call' };
    const given = deps.chatLedger
      .end({ ...nothingCharged(requestId, null), attempt: ending })
      .catch((lost: unknown) => deps.logger.warn({ err: lost, request_id: requestId }, 'a hold waits for its expiry'));
    await Promise.race([given, pause(giveBackMs)]);
    throw error;
  }
}

/** Seconds; a place in flight is free again when another request ends. */
const retryAfterOf = (code: string): number | undefined =>
  code === 'idempotency_in_progress' ? 1 : code === 'concurrency_limit_exceeded' ? 5 : undefined;

/**
 * The channels to try, the first of them claimed. Where the breakers have opened all, the one that ends first is tried all
 * the same; where all rest it is 503 with the time until the first is back (rules "Routing"). A channel whose credential cannot
 * be opened here is passed over like one that is not there, before it costs an attempt.
 */
async function drawChannels(deps: ChatDeps, { entry, families }: PreparedChat): Promise<ChannelRow[]> {
  const { channels: known, nowMs } = await deps.channels.look();
  const wanted = { modelId: entry.model.id, groups: entry.private.groups, families, tried: new Set<string>(), nowMs };
  const channels = listServing(known, wanted).filter((channel) => usableCredential(deps, channel) !== null);
  const { order, reopensAtMs } = drawOrder(channels, wanted, Math.random);
  for (const [index, channel] of order.entries()) {
    const claimed = await deps.channels.claim(channel, entry.model.id);
    if (claimed) return [claimed, ...order.slice(index + 1)];
  }
  const lastResort = firstToReopen(channels, wanted);
  if (lastResort) return [lastResort];
  if (reopensAtMs === null) {
    throw new GatewayError('no_channel_available', { retryAfterSeconds: 30 });
  }
  throw new GatewayError('no_channel_available', {
    retryAfterSeconds: Math.max(1, Math.ceil((reopensAtMs - nowMs) / 1000)),
  });
}

interface Tried {
  attempt: Attempt<ChatReply>;
  attemptId: string;
  channel: ChannelRow;
  attempts: number;
}

async function tryChannels(
  deps: ChatDeps,
  input: ChatInput,
  order: readonly ChannelRow[],
  progress: Progress,
  deadline: number,
): Promise<Tried> {
  const { config } = deps;
  const modelId = input.prepared.entry.model.id;
  let interrupted = 0;
  let attempts = 0;
  let last: Tried | null = null;
  for (const drawn of order) {
    let channel = drawn;
    if (last) {
      // A call that broke off after its body was sent may have been paid for: it is tried elsewhere once.
      const leftMs = deadline - performance.now();
      if (attempts >= config.ATTEMPTS_MAX || interrupted > 1) return last;
      if (leftMs < config.CHAT_ATTEMPT_LEFT_MIN_SECONDS * 1000) return last;
      const claimed = await deps.channels.claim(drawn, modelId);
      if (!claimed) continue;
      channel = claimed;
      if (!deps.retryBudget.take()) {
        await deps.channels.release(channel, modelId);
        return last;
      }
      const next = { requestId: input.requestId, attemptId: newId('att'), n: attempts + 1 };
      const ended = endingOf(last.attemptId, last.attempt);
      const begun = await deps.chatLedger.nextAttempt({
        ...next,
        ended,
        channelId: channel.id,
        channelName: channel.name,
      });
      if (!begun) {
        await deps.channels.release(channel, modelId);
        return last;
      }
      progress.attemptId = next.attemptId;
      progress.attempt = null;
    }
    const startedAt = performance.now();
    const attempt = await callChannel(deps, input, channel, deadline);
    noteHealth(deps, input, channel, attempt, startedAt);
    attempts += 1;
    progress.attempt = attempt;
    last = { attempt, attemptId: progress.attemptId, channel, attempts };
    if (attempt.kind !== 'transient') return last;
    if (attempt.errorClass === 'interrupted') interrupted += 1;
  }
  if (!last) throw new Error('no channel was tried');
  return last;
}

async function callChannel(
  deps: ChatDeps,
  input: ChatInput,
  channel: ChannelRow,
  deadline: number,
): Promise<Attempt<ChatReply>> {
  const adapter: Adapter | undefined = deps.adapters[channel.adapter];
  const mapping = mappingOf(input.prepared.entry, channel);
  if (!adapter?.chat || !mapping) throw new Error(`the channel ${channel.name} cannot chat`);
  const credential = usableCredential(deps, channel);
  if (credential === null) {
    // It was changed since it was drawn.
    return { kind: 'transient', errorClass: 'rejected', detail: 'the credential cannot be opened; nothing was sent' };
  }
  const upstream: Upstream = {
    channelId: channel.id,
    baseUrl: channel.baseUrl,
    credential,
    requestId: input.requestId,
  };
  const { config } = deps;
  const timeoutMs = Math.max(
    1,
    Math.min(config.CHAT_ATTEMPT_TIMEOUT_SECONDS * 1000, Math.ceil(deadline - performance.now())),
  );
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), timeoutMs);
  try {
    return await adapter.chat(upstream, toUpstreamChat(input.prepared.request, mapping), {
      signal: timeout.signal,
      timeoutMs,
      headersMs: config.CHAT_HEADERS_TIMEOUT_SECONDS * 1000,
    });
  } finally {
    clearTimeout(timer);
  }
}

const mappingOf = (entry: CatalogEntry, channel: ChannelRow): UpstreamMapping | undefined =>
  entry.private.upstream[channel.adapter];

/** Not waited for: the client need not pay for our bookkeeping. */
function noteHealth(
  deps: ChatDeps,
  { prepared }: ChatInput,
  channel: ChannelRow,
  attempt: Attempt<ChatReply>,
  startedAt: number,
): void {
  deps.channels
    .note(channel, prepared.entry.model.id, attempt, startedAt)
    .catch((error: unknown) =>
      deps.logger.warn({ err: error, channel: channel.name }, "a channel's health was not noted"),
    );
}

/** What the client gets, and the end to write before it does. */
function billed(
  deps: ChatDeps,
  input: ChatInput,
  tried: Tried,
  reply: ChatReply,
): { body: string; answered: ChatAnswered; end: ChatEnd } {
  const { entry, hold, credits } = input.prepared;
  const usage = settledUsage(reply, hold);
  const settlement = settledCredits(entry.model.pricing, usage, credits);
  if (settlement.undercharged > 0) {
    deps.metrics.creditsUndercharged(settlement.undercharged);
    const about = { request_id: input.requestId, model: entry.model.id, channel: tried.channel.name };
    deps.logger.warn({ ...about, credits_undercharged: settlement.undercharged }, 'a chat used more than its hold');
  }
  const answered: ChatAnswered = {
    reply,
    usage: { input: usage.input, output: usage.output },
    credits: settlement.credits,
    attempts: tried.attempts,
  };
  const { body } = input.render(answered);
  const end: ChatEnd = {
    requestId: input.requestId,
    settle: settlement.credits,
    channelId: tried.channel.id,
    inputTokens: usage.input,
    outputTokens: usage.output,
    usageEstimated: usage.estimated,
    costMicroUsd: tokenCost(mappingOf(entry, tried.channel), usage),
    attempt: { attemptId: tried.attemptId, outcome: 'ok', errorClass: null, status: null, detail: null },
    answer: input.idempotency ? { status: 200, body: input.sealAnswer(body) } : null,
  };
  return { body, answered, end };
}

function tokenCost(mapping: UpstreamMapping | undefined, usage: { input: number; output: number }): number {
  const rates = mapping?.token_cost_micro_usd;
  if (!rates) return mapping?.cost_micro_usd ?? 0;
  return Math.round((usage.input * rates.input_per_1k + usage.output * rates.output_per_1k) / 1000);
}

function endingOf(attemptId: string, attempt: Attempt<unknown>): AttemptEnding {
  if (attempt.kind === 'ok') return { attemptId, outcome: 'ok', errorClass: null, status: null, detail: null };
  const { kind, errorClass, status, detail } = attempt;
  return { attemptId, outcome: kind, errorClass, status: status ?? null, detail };
}

const settleRetryMs = 250;

/**
 * Writes the end of a chat, again and again for a few seconds while the database is away. If it stays away the client gets no
 * answer and must not blindly ask again: the hold is refunded when it expires. The same where the hold had expired and was
 * refunded before its answer came: nobody gets for nothing what was taken for lost.
 */
async function settlePatiently(deps: ChatDeps, end: ChatEnd): Promise<void> {
  const until = performance.now() + deps.config.CHAT_SETTLE_RETRY_SECONDS * 1000;
  for (;;) {
    const written = await deps.chatLedger.end(end).catch((error: unknown) => ({ error }));
    if ('error' in written) {
      if (performance.now() >= until) {
        throw new GatewayError('service_unavailable', { cause: written.error, shouldRetry: false });
      }
      await pause(settleRetryMs);
      continue;
    }
    if (end.settle !== null && written.charged < end.settle) {
      throw new GatewayError('service_unavailable', { shouldRetry: false });
    }
    return;
  }
}

/** What the client is told of the last attempt. Never an upstream's name, and never its 401, 402 or 404. */
function refusalOf(attempt: Exclude<Attempt<ChatReply>, { kind: 'ok' }>): GatewayError {
  if (attempt.kind === 'refused') return new GatewayError(attempt.clientCode ?? 'invalid_value');
  if (attempt.errorClass === 'rate_limit') {
    const retryAfterSeconds = attempt.kind === 'transient' ? attempt.retryAfterSeconds : undefined;
    return new GatewayError('no_channel_available', { retryAfterSeconds: retryAfterSeconds ?? 5 });
  }
  if (attempt.errorClass === 'interrupted' || attempt.errorClass === 'deadline')
    return new GatewayError('upstream_timeout');
  return new GatewayError('upstream_error');
}
