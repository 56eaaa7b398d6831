import type { ErrorCode } from '../domain/errors.ts';
import type { Database } from './database.ts';
import { GroupCommit, type GroupLimits } from './group-commit.ts';
import type { RateState } from './rate-limiter.ts';

export interface ChatAdmissionRequest {
  requestId: string;
  projectId: string;
  keyId: string;
  /** Requests per minute; null for no limit, or when this request was counted already. */
  rpm: number | null;
  modelId: string;
  /** Credits to hold, for the worst case. */
  credits: number;
  holdSeconds: number;
  attemptId: string;
  channelId: string;
  channelName: string;
  idempotency: { route: string; key: string; fingerprint: string; keptSeconds: number } | null;
}

export interface ChatAdmission {
  verdict: { kind: 'admitted' } | { kind: 'replay' } | { kind: 'refused'; code: ErrorCode };
  rate: RateState | null;
  retryAfterSeconds: number | null;
}

export interface AttemptEnding {
  attemptId: string;
  outcome: 'ok' | 'refused' | 'transient' | 'unknown';
  errorClass: string | null;
  status: number | null;
  detail: string | null;
}

export interface NextChatAttempt {
  requestId: string;
  ended: AttemptEnding;
  attemptId: string;
  n: number;
  channelId: string;
  channelName: string;
}

export interface ChatEnd {
  requestId: string;
  /** Credits to charge, 0 included; null refunds all. */
  settle: number | null;
  channelId: string | null;
  inputTokens: number | null;
  outputTokens: number | null;
  usageEstimated: boolean;
  costMicroUsd: number;
  attempt: AttemptEnding | null;
  /** The sealed answer, kept for replays where an Idempotency-Key was sent. */
  answer: { status: number; body: string | null } | null;
}

/**
 * Calls the SQL functions that move the credits of chats (`sql/functions/admit_chats.sql`, `next_chat_attempts.sql`, `end_chats.sql`).
 * Calls of the same moment share a statement; each is idempotent per request.
 */
export class ChatLedger {
  readonly #admissions: GroupCommit<ChatAdmissionRequest, ChatAdmission>;
  readonly #attempts: GroupCommit<NextChatAttempt, boolean>;
  readonly #ends: GroupCommit<ChatEnd, { ended: boolean; charged: number }>;

  constructor(database: Database, limits: GroupLimits) {
    this.#admissions = new GroupCommit({
      ...limits,
      run: (members) => admitChats(database, members),
      late: (request, admission) => {
        if (admission === null || admission.verdict.kind === 'admitted') this.#giveBack(request);
      },
    });
    this.#attempts = new GroupCommit({ ...limits, run: (members) => nextAttempts(database, members) });
    this.#ends = new GroupCommit({ ...limits, run: (members) => endChats(database, members) });
  }

  /** Rate, key, allowlist, idempotency, balance, budget, hold and first attempt row, or nothing but the count of the rate. */
  admit(request: ChatAdmissionRequest): Promise<ChatAdmission> {
    return this.#admissions.submit(request);
  }

  /** Ends one attempt and writes the next; false when the hold is over and nothing may be called any more. */
  nextAttempt(next: NextChatAttempt): Promise<boolean> {
    return this.#attempts.submit(next);
  }

  /** Settles or refunds a chat once. Called again it changes nothing and says what was charged. */
  end(end: ChatEnd): Promise<{ ended: boolean; charged: number }> {
    return this.#ends.submit(end);
  }

  /** Nobody will call anybody for a chat whose client was told 503. What cannot be given back now expires. */
  #giveBack({ requestId, attemptId }: ChatAdmissionRequest): void {
    const detail = 'admitted after its client had been answered; nothing was sent';
    const attempt: AttemptEnding = { attemptId, outcome: 'transient', errorClass: null, status: null, detail };
    this.end({ ...nothingCharged(requestId, null), attempt }).catch(() => undefined);
  }

  async flush(): Promise<void> {
    await Promise.all([this.#admissions.flush(), this.#attempts.flush()]);
    // After the admissions, for what comes late is ended.
    await this.#ends.flush();
  }
}

/** The end of a chat that is refunded. */
export const nothingCharged = (requestId: string, channelId: string | null): Omit<ChatEnd, 'attempt'> => ({
  requestId,
  settle: null,
  channelId,
  inputTokens: null,
  outputTokens: null,
  usageEstimated: false,
  costMicroUsd: 0,
  answer: null,
});

async function admitChats(database: Database, members: ChatAdmissionRequest[]): Promise<ChatAdmission[]> {
  const rows = await database.query<{
    verdict: string;
    rateRemaining: number | null;
    rateReset: number | null;
    retryAfter: number | null;
  }>(
    {
      name: 'admit-chats',
      text: 'select verdict, rate_remaining, rate_reset, retry_after from admit_chats($1::jsonb)',
    },
    [
      JSON.stringify(
        members.map((member, ord) => ({
          ord,
          request_id: member.requestId,
          project_id: member.projectId,
          key_id: member.keyId,
          rpm: member.rpm,
          model_id: member.modelId,
          amount: member.credits,
          hold_seconds: member.holdSeconds,
          attempt_id: member.attemptId,
          channel_id: member.channelId,
          channel_name: member.channelName,
          route: member.idempotency?.route,
          idempotency_key: member.idempotency?.key,
          fingerprint: member.idempotency?.fingerprint,
          idempotency_seconds: member.idempotency?.keptSeconds,
        })),
      ),
    ],
  );
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
  const rows = await database.query<{ begun: boolean }>(
    { name: 'next-chat-attempts', text: 'select begun from next_chat_attempts($1::jsonb)' },
    [
      JSON.stringify(
        members.map((member, ord) => ({
          ord,
          request_id: member.requestId,
          ended_id: member.ended.attemptId,
          outcome: member.ended.outcome,
          error_class: member.ended.errorClass,
          status: member.ended.status,
          detail: member.ended.detail,
          attempt_id: member.attemptId,
          n: member.n,
          channel_id: member.channelId,
          channel_name: member.channelName,
        })),
      ),
    ],
  );
  return rows.map(({ begun }) => begun);
}

async function endChats(database: Database, members: ChatEnd[]): Promise<{ ended: boolean; charged: number }[]> {
  return database.query<{ ended: boolean; charged: number }>(
    { name: 'end-chats', text: 'select ended, charged from end_chats($1::jsonb)' },
    [
      JSON.stringify(
        members.map((member, ord) => ({
          ord,
          request_id: member.requestId,
          settle: member.settle,
          channel_id: member.channelId,
          input_tokens: member.inputTokens,
          output_tokens: member.outputTokens,
          usage_estimated: member.usageEstimated,
          cost_micro_usd: member.costMicroUsd,
          attempt_id: member.attempt?.attemptId,
          outcome: member.attempt?.outcome,
          error_class: member.attempt?.errorClass,
          status: member.attempt?.status,
          detail: member.attempt?.detail,
          answer_status: member.answer?.status,
          answer_body: member.answer?.body,
        })),
      ),
    ],
  );
}

const expiryBatchesMax = 50;

/**
 * Refunds the chat holds that have expired, `batchMax` in a transaction: the process that made the call is gone, no answer was
 * delivered. One call sees to all of them, for nothing may stay held past its expiry and one sweep. Answers how many.
 */
export async function expireChats(database: Database, batchMax: number): Promise<number> {
  let all = 0;
  for (let batch = 0; batch < expiryBatchesMax; batch++) {
    const [row] = await database.query<{ expired: number }>(
      { name: 'expire-chats', text: 'select expire_chats($1) as expired' },
      [batchMax],
    );
    const expired = row?.expired ?? 0;
    all += expired;
    if (expired < batchMax) break;
  }
  return all;
}
