import type { RefundReason } from '../../domain/chat/chat-end-reason.ts';
import type { ErrorCode } from '../../domain/errors.ts';
import { toMembers } from '../column-names.ts';
import type { Database } from '../database.ts';
import type { AttemptEnding, ChatAdmissionRequest, ChatEnd, ChatFacts, ChatSettlement } from './chat-facts.ts';
import { GroupCommit, type GroupLimits } from '../group-commit.ts';
import { admitAlone, admitTogether } from './admit-together.ts';
import { endAlone, endTogether, type WrittenChatEnd } from './end-chats.ts';
import { RateBatches, type RateBatch } from '../projects/rate-batches.ts';
import type { RateState } from '../projects/rate-limiter.ts';

export type { AttemptEnding, ChatAdmissionRequest, ChatEnd, ChatSettlement } from './chat-facts.ts';

/** The id of the first call of a chat (`sql/functions/first_attempt_id.sql`), so that its hold need not have it. */
export const firstAttemptId = (requestId: string): string => `att_${requestId.slice('req_'.length)}`;

export interface ChatAdmission {
  verdict: { kind: 'admitted' } | { kind: 'replay' } | { kind: 'refused'; code: ErrorCode };
  rate: RateState | null;
  retryAfterSeconds: number | null;
}

export interface NextChatAttempt {
  requestId: string;
  ended: AttemptEnding;
  attemptId: string;
  n: number;
  channelId: string;
  channelName: string;
  /** The next call goes to the same channel, with another credential. */
  isSame?: boolean;
}

/** What is known of a chat that is refunded. */
export type RefundFacts = Pick<ChatFacts, 'requestId' | 'attempt'> &
  Partial<Pick<ChatFacts, 'channelId' | 'costMicroUsd' | 'deliveredTokens'>>;

/**
 * Calls the SQL functions that move the credits of chats (`sql/functions/admit_chats.sql`, `next_chat_attempts.sql`, `finish_chats.sql`).
 * Concurrent calls share a statement, and each call is idempotent per request.
 */
export class ChatLedger {
  readonly #database: Database;
  readonly #admissions: GroupCommit<ChatAdmissionRequest, ChatAdmission>;
  readonly #attempts: GroupCommit<NextChatAttempt, boolean>;
  readonly #ends: GroupCommit<ChatEnd, { ended: boolean; charged: number }>;

  constructor(database: Database, limits: GroupLimits) {
    this.#database = database;
    const batches = new RateBatches<ChatAdmissionRequest>(({ rpm, keyId }) => (rpm === null ? null : keyId));
    this.#admissions = new GroupCommit({
      ...limits,
      run: (members, again) => admitChats(database, members, batches.of(members, again)),
      late: (request, admission) => {
        if (admission === null || admission.verdict.kind === 'admitted') this.#refundLate(request);
      },
    });
    this.#attempts = new GroupCommit({ ...limits, run: (members) => nextAttempts(database, members) });
    this.#ends = new GroupCommit({ ...limits, run: (members) => endChats(database, members) });
  }

  /** Checks rate, key, allowlist, idempotency, balance and budget, and writes the hold with the first channel. A refusal only counts the rate. */
  admit(request: ChatAdmissionRequest): Promise<ChatAdmission> {
    return this.#admissions.submit(request);
  }

  /** Ends one attempt and writes the next; false if the hold has ended, so that no further call may be made. */
  nextAttempt(next: NextChatAttempt): Promise<boolean> {
    return this.#attempts.submit(next);
  }

  /** Settles or refunds a chat once. Called again, it changes nothing and returns what was charged. */
  end(end: ChatEnd): Promise<{ ended: boolean; charged: number }> {
    return this.#ends.submit(end);
  }

  /**
   * Refunds a chat once. The reason stands on its ledger entry. Every refund comes from here, but that of the sweep, whose reason is
   * `hold_expired` (`expire_chats.sql`).
   */
  refund(reason: RefundReason, facts: RefundFacts): Promise<{ ended: boolean; charged: number }> {
    return this.end({ ...noFacts, ...facts, settle: null, reason });
  }

  /**
   * Makes sure that a chat whose answer was not delivered, or not to its end, costs nothing, whether its settlement was committed or not. Returns
   * the credits that were charged and are given back. Called again, it changes nothing.
   */
  async giveBack({ requestId, channelId, costMicroUsd, attempt }: ChatSettlement): Promise<number> {
    const { ended } = await this.refund('not_delivered', { requestId, channelId, costMicroUsd, attempt });
    return ended ? 0 : this.#database.value<number>('return_chat', [requestId]);
  }

  /** Refunds a chat whose client has already received 503. If that fails, the hold is refunded when it expires. */
  #refundLate({ requestId }: ChatAdmissionRequest): void {
    const detail = 'admitted after its client had been answered; nothing was sent';
    const attemptId = firstAttemptId(requestId);
    const attempt: AttemptEnding = { attemptId, outcome: 'transient', errorClass: null, status: null, detail };
    this.refund('admitted_late', { requestId, attempt }).catch(() => undefined);
  }

  async flush(): Promise<void> {
    await Promise.all([this.#admissions.flush(), this.#attempts.flush()]);
    // After the admissions, because a late admission is ended here.
    await this.#ends.flush();
  }
}

/** A refund names only what is known of its chat. */
const noFacts = {
  channelId: null,
  inputTokens: null,
  outputTokens: null,
  usageEstimated: false,
  deliveredTokens: null,
  costMicroUsd: 0,
  answer: null,
} as const;

async function admitChats(
  database: Database,
  members: ChatAdmissionRequest[],
  counted: RateBatch,
): Promise<ChatAdmission[]> {
  const [only] = members;
  const rows =
    members.length === 1 && only && !only.idempotency && !counted.again
      ? await admitAlone(database, only, counted)
      : await admitTogether(database, members, counted);
  return rows.map((row) => ({
    verdict:
      row.verdict === 'admitted' || row.verdict === 'replay'
        ? { kind: row.verdict }
        : { kind: 'refused', code: row.verdict as ErrorCode },
    rate: row.rateRemaining === null ? null : { remaining: row.rateRemaining, resetSeconds: row.rateReset ?? 61 },
    retryAfterSeconds: row.retryAfter,
  }));
}

async function nextAttempts(database: Database, members: NextChatAttempt[]): Promise<boolean[]> {
  const flat = members.map(({ ended: { attemptId: endedId, ...ended }, ...next }) => ({ ...ended, ...next, endedId }));
  const rows = await database.call<{ begun: boolean }>('next_chat_attempts', [toMembers(flat)]);
  return rows.map(({ begun }) => begun);
}

function endChats(database: Database, members: ChatEnd[]): Promise<WrittenChatEnd[]> {
  const [only] = members;
  return members.length === 1 && only && isAnsweredAtOnce(only)
    ? endAlone(database, only)
    : endTogether(database, members);
}

/** Whether its first call answered, and no answer is kept for a replay. */
const isAnsweredAtOnce = ({ requestId, settle, attempt, answer }: ChatEnd): boolean =>
  settle !== null && answer === null && attempt?.outcome === 'ok' && attempt.attemptId === firstAttemptId(requestId);

const expiryBatchesMax = 50;
/** Expired holds that are refunded in one transaction. */
export const EXPIRED_BATCH_MAX = 200;

/**
 * Refunds all expired chat holds, `batchMax` per transaction, and returns how many. The processes that made these calls are gone,
 * so no answer was delivered. Nothing may stay held past its expiry and one sweep.
 */
export async function expireChats(database: Database, batchMax: number): Promise<number> {
  let all = 0;
  for (let batch = 0; batch < expiryBatchesMax; batch++) {
    const expired = await database.value<number>('expire_chats', [batchMax]);
    all += expired;
    if (expired < batchMax) break;
  }
  return all;
}
