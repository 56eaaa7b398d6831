import type { ChatSettlement } from '../../db/chat/chat-ledger.ts';
import { toUpstreamChat, type ChatReply, type ChatRequest } from '../../domain/chat/chat.ts';
import {
  billedTokens,
  inputTexts,
  isAbsurd,
  needsCounting,
  outputTexts,
  plausibleCounts,
  settledCredits,
  settledUsage,
  type CountedTokens,
  type PlausibleCounts,
} from '../../domain/chat/chat-hold.ts';
import type { ChargeReason } from '../../domain/chat/chat-end-reason.ts';
import { deliveredWhole, type DeliveredText } from '../../domain/chat/delivered-text.ts';
import { GatewayError } from '../../domain/errors.ts';
import { thoughtOnly } from '../../domain/chat/reasoning.ts';
import { noEffect, unsentBy } from '../../domain/chat/unsent-parameters.ts';
import { chatCost } from '../../domain/catalog/upstream-cost.ts';
import { costDetails } from '../../domain/ledger/pricing.ts';
import type { Sale } from '../../platform/observe/metrics.ts';
import { keepWriting } from '../keep-writing.ts';
import { carriedTo } from './ask-channel.ts';
import type { ChatAnswered, ChatDeps, ChatInput } from './chat-input.ts';
import type { PreparedChat } from './prepare-chat.ts';
import type { ChannelAttempt } from './route-chat.ts';

/**
 * The client's answer, the settlement to write before the answer is sent, and what it means for the metrics. `streamed` says how far an answer
 * got that was passed on as it came: what it had when it broke off is charged.
 */
export async function billChat(
  deps: ChatDeps,
  input: ChatInput,
  attempted: Omit<ChannelAttempt<unknown>, 'attempt'>,
  reply: ChatReply,
  streamed?: Streamed,
): Promise<{ body: string; answered: ChatAnswered; end: ChatSettlement; sale: Sale }> {
  const { entry, request, hold, credits } = input.prepared;
  const plausible = plausibleCounts(entry, request);
  const about = { request_id: input.requestId, model: entry.model.id, channel: attempted.channel.name };
  if (isAbsurd(reply, plausible)) {
    deps.logger.warn(
      { ...about, usage: reply.usage },
      'a provider reported more tokens than its model can have: they are estimated',
    );
  }
  const counted = await countTokens(deps, attempted.channel.adapter, request, reply, plausible);
  const usage = settledUsage(reply, hold, counted, plausible);
  const settlement = settledCredits(entry.model.pricing, usage, credits);
  if (settlement.undercharged > 0) {
    deps.metrics.creditsUndercharged(settlement.undercharged);
    deps.logger.warn(
      { ...about, credits_undercharged: settlement.undercharged },
      'a chat cost more than its hold and was charged the hold',
    );
  }
  const least = entry.private.max_tokens?.min ?? 0;
  const { estimated: _estimated, empty: isEmpty, ...billed } = usage;
  const silent = thoughtOnly(reply, request.maxTokens < least ? least : undefined);
  const carried = carriedTo(deps, input.prepared, attempted.channel.adapter);
  const warning = [...parameterWarnings(deps, { entry, ...carried }, attempted.channel.adapter), silent?.warning]
    .filter(Boolean)
    .join(' ');
  const answered: ChatAnswered = {
    reply: silent?.reply ?? reply,
    ...(warning !== '' && { warning }),
    ...(carried.leftOut.length > 0 && { leftOut: carried.leftOut }),
    usage: billed,
    credits: settlement.credits,
    costDetails: costDetails(entry.model.pricing, billed, settlement.credits),
    attempts: attempted.attempts,
  };
  const { body } = input.render(answered, streamed?.broken ?? null);
  const mapping = entry.private.upstream[attempted.channel.adapter];
  const end: ChatSettlement = {
    requestId: input.requestId,
    settle: settlement.credits,
    reason: streamed?.reason ?? (isEmpty ? 'empty_answer' : !streamed && input.hasLeft() ? 'client_left' : null),
    channelId: attempted.channel.id,
    inputTokens: usage.input,
    outputTokens: usage.output,
    tokenClasses: billed,
    usageEstimated: usage.estimated,
    deliveredTokens: (streamed?.delivered ?? deliveredWhole(answered.reply)).leastTokens(hold.outputTokens),
    costMicroUsd: mapping ? chatCost(mapping.cost, billedTokens(reply, usage)) : 0,
    attempt: { attemptId: attempted.attemptId, outcome: 'ok', errorClass: null, status: null, detail: null },
    answer: input.idempotency ? { status: 200, body: input.sealAnswer(body, answered) } : null,
  };
  const sale = {
    model: entry.model.id,
    channel: attempted.channel.name,
    credits: settlement.credits,
    costMicroUsd: end.costMicroUsd,
    tokens: answered.usage,
  };
  return { body, answered, end, sale };
}

/** An answer that was passed on as it came. */
interface Streamed {
  /** The error with which it ends, if it broke off. */
  broken: GatewayError | null;
  /** Why the client did not receive all of it, if it did not. */
  reason: ChargeReason | null;
  delivered: DeliveredText;
}

/**
 * The tokens of a chat whose provider did not report all of them at its end, by the tokenizer of the family that answered. Null if the provider
 * reported them, if the family has no tokenizer, or if it did not count in time: then the estimate is by script.
 */
async function countTokens(
  { adapters, tokenCounter }: Pick<ChatDeps, 'adapters' | 'tokenCounter'>,
  family: string,
  request: ChatRequest,
  reply: ChatReply,
  plausible: PlausibleCounts,
): Promise<CountedTokens | null> {
  const tokenizer = adapters[family]?.tokenizer;
  if (tokenizer === undefined || !needsCounting(reply, plausible)) return null;
  const texts = [inputTexts(request), outputTexts(reply)].map((some) => some.join('\n'));
  const [input, output] = (await tokenCounter.count(tokenizer, texts)) ?? [];
  return input === undefined || output === undefined ? null : { input, output };
}

/** What the client should know about the parameters of its request at this family, in sentences. */
function parameterWarnings(
  { adapters }: Pick<ChatDeps, 'adapters'>,
  { entry, request, unsent: lacked }: Pick<PreparedChat, 'entry' | 'request'> & { unsent: readonly string[] },
  family: string,
): string[] {
  const mapping = entry.private.upstream[family];
  if (!mapping) return [];
  const unsent = noEffect([...unsentBy(request, mapping.parameters), ...lacked]);
  const changed = adapters[family]?.chatWarnings?.(toUpstreamChat(request, mapping)) ?? [];
  return [...(unsent === null ? [] : [unsent]), ...changed];
}

/** The last try of a settlement, and the answer after it, come before the hold of the chat may expire. */
const settleMarginMs = 5_000;
const settleRetriesMinMs = 5_000;

/**
 * How long the settlement of an answer is repeated: nearly as long as its hold outlives the deadline of the chat. The provider bills the
 * answer, so a client that waits for an outage of the database to end is better off than one that asks again.
 */
const settleRetriesMs = ({ holdExtraSeconds }: ChatDeps['config']['chat']): number =>
  Math.max(settleRetriesMinMs, holdExtraSeconds * 1_000 - settleMarginMs);

/**
 * Charges a chat, again and again while the database is unavailable. If that does not succeed within the life of its hold, the client
 * receives 503 with `x-should-retry: false`, and its credits are given back once the database answers, whether the settlement was
 * committed or not. The client receives the same 503 if the hold expired and was refunded before, because an answer whose hold was
 * refunded is never delivered.
 */
export async function settleChat(deps: ChatDeps, end: ChatSettlement, sale: Sale): Promise<void> {
  const written = await writeEnd(deps, end.requestId, settleRetriesMs(deps.config.chat), () =>
    deps.chatLedger.end(end),
  ).catch((cause: unknown) => {
    deps.undelivered.giveBack(end);
    throw new GatewayError('service_unavailable', { cause, shouldRetry: false });
  });
  if (written.charged < end.settle) throw new GatewayError('service_unavailable', { shouldRetry: false });
  deps.metrics.saleMade(sale);
}

/** Writes the end of a chat, again and again for at most `repeatedMs` while the database is unavailable. */
export async function writeEnd<T>(
  { logger }: Pick<ChatDeps, 'logger'>,
  requestId: string,
  repeatedMs: number,
  write: () => Promise<T>,
): Promise<T> {
  const until = performance.now() + repeatedMs;
  return keepWriting(write, {
    leftMs: () => until - performance.now(),
    onTrouble: (error) =>
      logger.warn(
        { err: error, request_id: requestId },
        'the end of a chat could not be written: it is written again while its credits are held',
      ),
  });
}
