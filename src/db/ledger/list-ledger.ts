import type { ChatEndReason } from '../../domain/chat/chat-end-reason.ts';
import type { Page, PageRequest } from '../../domain/page.ts';
import type { TaskErrorCode } from '../../domain/tasks/task.ts';
import { newestPosition, readTimePosition } from '../../domain/time-position.ts';
import { boundedPageOf, boundedText, CLIENT_PAGE_BYTES_MAX, type Bounded } from '../bounded-page.ts';
import type { Database } from '../database.ts';
import { positionOf, timeOfPosition } from '../time-position-sql.ts';
import { unixSeconds } from '../unix-seconds.ts';

export interface LedgerFilter {
  projectId: string;
  keyId?: string | undefined;
  /** The id of a task, or of the request of a chat. */
  requestId?: string | undefined;
}

export interface LedgerEntry {
  id: number;
  /** Unix seconds. */
  at: number;
  kind: 'topup' | 'settle' | 'refund' | 'adjust' | 'deduct' | 'expiry';
  /** What the entry adds to the account, negative if it takes. */
  credits: number;
  balanceAfter: number;
  /** The id of a task or of a chat's request; null for a top-up. */
  requestId: string | null;
  keyId: string | null;
  /** Of the settlement of a chat: the tokens that were charged. The further counts are parts of these two. Null otherwise. */
  inputTokens: number | null;
  outputTokens: number | null;
  cachedInputTokens: number | null;
  cacheWriteTokens: number | null;
  cacheWrite1hTokens: number | null;
  reasoningTokens: number | null;
  /** Of a top-up, a deduction and an expiry the reference, of an adjustment the reason. */
  reference: string | null;
  /**
   * Of the end of a request: why it was refunded, or why a charged answer is not whole. Null for a whole one and for what an earlier release
   * ended. Of a deduction: what the operator wrote.
   */
  reason: ChatEndReason | TaskErrorCode | (string & {}) | null;
}

/** One page of a project's ledger, newest first. An index has the entries of each project, key and request in this order. */
export async function listLedger(
  database: Database,
  { projectId, keyId, requestId }: LedgerFilter,
  { limit, after }: PageRequest,
): Promise<Page<LedgerEntry>> {
  const { microseconds, id } = after === null ? newestPosition : readTimePosition(after);
  const values: unknown[] = [projectId, microseconds, Number(id), limit + 1];
  const source = requestId === undefined ? 'ledger_entry' : entriesOfRequest(`$${values.push(requestId)}`);
  // A key of another project has no entries here, and reading its own ones would take long.
  const ofKey =
    keyId === undefined
      ? ''
      : `and key_id = (select k.id from api_key k where k.id = $${values.push(keyId)} and k.project_id = $1)`;
  const rows = await database.query<LedgerEntry & Bounded & { position: string }>(
    `list-ledger${requestId === undefined ? '' : '-of-request'}${keyId === undefined ? '' : '-of-key'}`,
    boundedText(
      `select id, ${unixSeconds('created_at')} as at, kind, credits, balance_after, request_id, key_id,
       case when kind = 'settle' then input_tokens end as input_tokens, case when kind = 'settle' then output_tokens end as output_tokens,
       cached_input_tokens, cache_write_tokens, cache_write_1h_tokens, reasoning_tokens, case when kind = 'adjust' then reason else reference end as reference,
       case when kind <> 'adjust' then reason end as reason, ${positionOf('entry')} as position
     from ${source} entry
     where project_id = $1 and (created_at, id) < (${timeOfPosition('$2')}, $3::bigint) ${ofKey}
     order by created_at desc, id desc limit $4`,
      CLIENT_PAGE_BYTES_MAX,
    ),
    values,
  );
  return boundedPageOf(rows, limit, ({ position }) => position);
}

/** The end of a request and its adjustments have an index each. */
const entriesOfRequest = (id: string): string =>
  `(select * from ledger_entry where request_id = ${id} and kind in ('settle', 'refund')
    union all
    select * from ledger_entry where request_id = ${id} and kind = 'adjust')`;
