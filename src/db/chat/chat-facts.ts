import type { ChargeReason, RefundReason } from '../../domain/chat/chat-end-reason.ts';
import type { AttemptOutcome } from '../../domain/channels/upstream.ts';
import type { TokenParts } from '../../domain/catalog/token-classes.ts';
import type { IdempotencyBinding } from '../idempotency.ts';

export interface ChatAdmissionRequest {
  requestId: string;
  projectId: string;
  keyId: string;
  /** Requests per minute; null if there is no limit or this request was already counted. */
  rpm: number | null;
  modelId: string;
  /** Credits to hold, for the worst case. */
  credits: number;
  holdSeconds: number;
  /** The channel of the first call, whose id is `firstAttemptId`. */
  channelId: string;
  channelName: string;
  idempotency: IdempotencyBinding | null;
}

export interface AttemptEnding {
  attemptId: string;
  outcome: AttemptOutcome;
  errorClass: string | null;
  status: number | null;
  detail: string | null;
}

/** What the end of a chat says of it, charged or refunded. */
export interface ChatFacts {
  requestId: string;
  channelId: string | null;
  inputTokens: number | null;
  outputTokens: number | null;
  /** The tokens that are billed by their class, as parts of the two. */
  tokenClasses?: TokenParts;
  usageEstimated: boolean;
  /**
   * The fewest tokens that may be charged for what the client received, counted where it was handed over. The ledger keeps it for invariant
   * C10. Null if nothing was handed over.
   */
  deliveredTokens: number | null;
  costMicroUsd: number;
  attempt: AttemptEnding | null;
  /** The sealed answer, which is kept for replays if the request has an Idempotency-Key. */
  answer: { status: number; body: string | null } | null;
}

/** The end of a chat that is charged for its answer. */
export interface ChatSettlement extends ChatFacts {
  /** Credits to charge, which may be 0. */
  settle: number;
  /** Why the answer is not whole or cost nothing; null for a whole one. */
  reason: ChargeReason | null;
}

/** The end of a chat that is refunded. A refund without a reason cannot be written. */
interface ChatRefund extends ChatFacts {
  settle: null;
  reason: RefundReason;
}

export type ChatEnd = ChatSettlement | ChatRefund;
