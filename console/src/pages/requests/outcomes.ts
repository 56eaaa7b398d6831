import type { ChatRow } from '../../api/admin-types.ts';

type Outcome = ChatRow['outcome'];

/** The words of the ledger page for the outcomes of a chat. */
const names: Record<Outcome, string> = {
  running: 'running',
  succeeded: 'charged',
  incomplete: 'incomplete',
  refunded: 'refunded',
};

export const outcomeName = (outcome: Outcome): string => names[outcome];

export const outcomes: readonly { value: Outcome; label: string }[] = [
  { value: 'running', label: 'Running' },
  { value: 'succeeded', label: 'Charged' },
  { value: 'incomplete', label: 'Incomplete' },
  { value: 'refunded', label: 'Refunded' },
];

/** Why chats end, refunded or charged for less than a whole answer, and why tasks fail. */
export const reasons: readonly NonNullable<ChatRow['reason']>[] = [
  'request_refused',
  'content_policy_violation',
  'context_length_exceeded',
  'upstream_rate_limited',
  'upstream_unreachable',
  'upstream_timeout',
  'upstream_interrupted',
  'upstream_failed',
  'client_left',
  'gateway_stopped',
  'internal_error',
  'hold_expired',
  'admitted_late',
  'not_delivered',
  'empty_answer',
  'upstream_invalid_response',
  'upstream_outcome_unknown',
  'task_timeout',
  'no_channel_available',
  'output_unavailable',
  'canceled',
];
