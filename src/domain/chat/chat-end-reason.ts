import type { Attempt } from '../channels/upstream.ts';

/** Why nothing of an answer, or only a part of it, reached the client of a chat: for both a refund and a charge for a part. */
const cutReasons = {
  upstream_rate_limited: 'The last channel that was called was over the rate limit of its provider.',
  upstream_unreachable: 'The provider of the last channel that was called could not be reached.',
  upstream_timeout: 'The provider did not answer, or did not go on, in time.',
  upstream_interrupted: 'The call to the provider broke off before the answer ended.',
  upstream_failed: 'The provider answered with an error, or with what cannot be used.',
  client_left: 'The client closed its connection before the answer ended.',
  gateway_stopped: 'The API server stopped before the answer ended.',
  internal_error: 'An error of the gateway ended the chat. The log has it with the request id.',
} as const;

const refundReasons = {
  request_refused: 'The provider refused the request as invalid.',
  content_policy_violation: "The provider's content policy refused the request.",
  context_length_exceeded: 'The provider refused the request because it is longer than the context of the model.',
  ...cutReasons,
  hold_expired: 'The reservation expired before the chat ended: its API server was gone, or had no answer in time.',
  admitted_late:
    'The credits were reserved only after the client had been answered with an error. No provider was called.',
  not_delivered: 'The answer was not delivered, because the database did not acknowledge its charge in time.',
} as const;

const sentences = {
  ...refundReasons,
  empty_answer: 'The provider answered without content, which costs nothing.',
} as const;

/** Why a chat was refunded. It stands on the entry of its refund for ever, while the rows of its calls are deleted after some time. */
export type RefundReason = keyof typeof refundReasons;

/** Why an answer that was charged is not whole, or cost nothing. */
export type ChargeReason = keyof typeof cutReasons | 'empty_answer';

/** Why a chat ended as it did: refunded, or charged for less than a whole answer. */
export type ChatEndReason = RefundReason | ChargeReason;

export const chatEndReasons = Object.keys(sentences) as ChatEndReason[];

/** The reason as a sentence for people. */
export const sentenceOf = (reason: ChatEndReason): string => sentences[reason];

type Failure = Exclude<Attempt<unknown>, { kind: 'ok' }>;

/**
 * Why a chat is refunded whose last call failed like this. Clients read it, so it says no more about our account at the provider than their
 * error does (rules "Errors").
 */
export function refundReasonOf(failure: Failure): RefundReason {
  if (failure.kind !== 'refused') return cutReasonOf(failure);
  const { clientCode = 'invalid_value' } = failure;
  return clientCode === 'invalid_value' ? 'request_refused' : clientCode;
}

/** Why an answer broke off after a part of it was delivered. */
export function cutReasonOf({ errorClass, timedOut }: Failure): keyof typeof cutReasons {
  if (timedOut !== undefined) return 'upstream_timeout';
  switch (errorClass) {
    case 'rate_limit':
      return 'upstream_rate_limited';
    case 'connect':
      return 'upstream_unreachable';
    case 'deadline':
      return 'upstream_timeout';
    case 'interrupted':
      return 'upstream_interrupted';
    default:
      return 'upstream_failed';
  }
}
