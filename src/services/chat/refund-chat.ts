import type { AttemptEnding, RefundFacts } from '../../db/chat/chat-ledger.ts';
import type { RefundReason } from '../../domain/chat/chat-end-reason.ts';
import { GatewayError } from '../../domain/errors.ts';
import { within } from '../../platform/pause.ts';
import type { ChatDeps, ChatInput } from './chat-input.ts';
import { endingOf, type Progress } from './route-chat.ts';
import { writeEnd } from './settle-chat.ts';

/** How long a refund is repeated. After that an error is better than a longer wait of the client. */
const refundRetriesMs = 5_000;

/**
 * Refunds a chat that no provider answered, for a reason that stands on its ledger entry. It is repeated while the database is unavailable.
 * If it cannot be written, the client receives 503 with `x-should-retry: false`, and the hold is refunded when it expires.
 */
export async function refundChat(deps: ChatDeps, reason: RefundReason, facts: RefundFacts): Promise<void> {
  await writeEnd(deps, facts.requestId, refundRetriesMs, () => deps.chatLedger.refund(reason, facts)).catch(
    (cause: unknown) => {
      throw new GatewayError('service_unavailable', { cause, shouldRetry: false });
    },
  );
}

/** How long the client waits for its refund to be written. The write continues after that. */
const refundWaitMs = 1_000;

/**
 * If `work` throws, refunds the chat, which also frees its slot in flight and its idempotency key before the hold expires. What the client
 * had received by then is written with the refund, where invariant C10 finds it.
 */
export async function refundOnError<T>(
  deps: ChatDeps,
  { requestId, prepared }: ChatInput,
  progress: Progress,
  work: () => T | Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { attemptId, attempt, channelId, delivered } = progress;
    const ending: AttemptEnding = attempt
      ? endingOf(attemptId, attempt)
      : { attemptId, outcome: 'unknown', errorClass: null, status: null, detail: 'an internal error ended this call' };
    const deliveredTokens = delivered?.leastTokens(prepared.hold.outputTokens) ?? null;
    const facts = { requestId, channelId, deliveredTokens, attempt: ending };
    const refunded = refundChat(deps, 'internal_error', facts).catch((failure: unknown) =>
      deps.logger.warn(
        { err: failure, request_id: requestId },
        'a hold could not be refunded and is refunded when it expires',
      ),
    );
    await within(refundWaitMs, refunded);
    throw error;
  }
}
