import { partColumns, partList, type TokenCounts } from '../../domain/catalog/token-counts.ts';
import type { ChatEndReason } from '../../domain/chat/chat-end-reason.ts';
import type { EntryKind } from '../../domain/ledger/entry-kind.ts';
import type { Page } from '../../domain/page.ts';
import type { TaskErrorCode } from '../../domain/tasks/task.ts';
import { gaveBackUndelivered } from '../chat/chats.ts';
import { boundedText, CLIENT_PAGE_BYTES_MAX } from '../bounded-page.ts';
import type { Database } from '../database.ts';
import {
  inTimeOrder,
  isByTime,
  pageOfRows,
  sortedPageOf,
  sortedText,
  type ListRequest,
  type Positioned,
  type SortedRow,
} from '../list-order.ts';
import { unixSeconds } from '../unix-seconds.ts';

export interface LedgerFilter {
  projectId: string;
  keyId?: string | undefined;
  /** The id of a task, or of the request of a chat. */
  requestId?: string | undefined;
}

/** The counts are those of the settlement of a chat, and null otherwise. */
export interface LedgerEntry extends TokenCounts<number | null> {
  id: number;
  /** Unix seconds. */
  at: number;
  kind: EntryKind;
  /** What the entry adds to the account, negative if it takes. */
  credits: number;
  balanceAfter: number;
  /** The id of a task or of a chat's request; null for a top-up. */
  requestId: string | null;
  keyId: string | null;
  /** Of a top-up, a deduction and an expiry the reference, of an operator's adjustment the reason. */
  reference: string | null;
  /**
   * Of the end of a request: why it was refunded, or why a charged answer is not whole. Null for a whole one and for what an earlier release
   * ended. Of an adjustment: `not_delivered`, if the gateway made it. Of a deduction: what the operator wrote.
   */
  reason: ChatEndReason | TaskErrorCode | (string & {}) | null;
}

/**
 * One page of a project's ledger, of at most `bytesMax` bytes. An index has the entries of each project, key and request in the order of
 * time.
 */
export async function listLedger(
  database: Database,
  { projectId, keyId, requestId }: LedgerFilter,
  request: ListRequest,
): Promise<Page<LedgerEntry>> {
  const values: unknown[] = [projectId];
  const bind = (value: unknown): string => `$${values.push(value)}`;
  const { sort = 'newest' } = request;
  const source = requestId === undefined ? 'ledger_entry' : entriesOfRequest(bind(requestId));
  // A key of another project has no entries here, and reading its own ones would take long. The key stands in the condition itself, because of a
  // key that it does not know the planner expects a few entries, and would sort all of them.
  const key = keyId === undefined ? '' : bind(keyId);
  const ofKey =
    keyId === undefined
      ? ''
      : `and entry.key_id = ${key} and exists (select from api_key k where k.id = ${key} and k.project_id = $1)`;
  const name = `list-ledger-${sort}${requestId === undefined ? '' : '-of-request'}${keyId === undefined ? '' : '-of-key'}`;
  if (!isByTime(sort)) {
    const ofRequest = requestId === undefined ? '' : `and entry.request_id = ${bind(requestId)}`;
    const match = `entry.project_id = $1 ${ofRequest} ${ofKey}`;
    const text = sortedText({ ...entryRows, match, select: columns }, { ...request, sort }, bind);
    const sorted = await database.query<LedgerEntry & SortedRow>(name, text, values);
    return sortedPageOf(sorted, request.limit);
  }
  const { where, order, position } = inTimeOrder(entryRows, { ...request, sort }, bind);
  const rows = await database.query<LedgerEntry & Positioned>(
    name,
    boundedText(
      `select ${columns}, ${position} as position
     from ${source} entry
     where entry.project_id = $1 and ${where} ${ofKey}
     order by ${order} limit ${bind(request.limit + 1)}::int`,
      CLIENT_PAGE_BYTES_MAX,
    ),
    values,
  );
  return pageOfRows(rows, request.limit);
}

const isUndelivered = gaveBackUndelivered('entry');
const reference = `case when entry.kind <> 'adjust' then entry.reference when not ${isUndelivered} then entry.reason end`;
const reason = `case when entry.kind <> 'adjust' then entry.reason when ${isUndelivered} then 'not_delivered' end`;
const columns = `entry.id, ${unixSeconds('entry.created_at')} as at, entry.kind, entry.credits, entry.balance_after, entry.request_id, entry.key_id,
  case when entry.kind = 'settle' then entry.input_tokens end as input_tokens,
  case when entry.kind = 'settle' then entry.output_tokens end as output_tokens,
  ${partList((column) => `entry.${column}`)},
  ${reference} as reference, ${reason} as reason`;

/** The end of a request and its adjustments have an index each. */
const entriesOfRequest = (id: string): string =>
  `(select * from ledger_entry where request_id = ${id} and kind in ('settle', 'refund')
    union all
    select * from ledger_entry where request_id = ${id} and kind = 'adjust')`;

const isOfTask = `coalesce(entry.request_id like 'task\\_%', false)`;

/** The columns of the ledger that it can be sorted by. */
export const ledgerColumns = {
  entry_id: { number: 'entry.id' },
  at: { time: 'entry.created_at' },
  kind: 'entry.kind',
  credits: { number: 'entry.credits' },
  balance_after: { number: 'entry.balance_after' },
  task_id: `case when ${isOfTask} then entry.request_id end`,
  request_id: `case when not ${isOfTask} then entry.request_id end`,
  key_id: 'entry.key_id',
  reference,
  reason,
  input_tokens: { number: `case when entry.kind = 'settle' then entry.input_tokens end` },
  ...Object.fromEntries(partColumns.map((column) => [column, { number: `entry.${column}` }])),
  output_tokens: { number: `case when entry.kind = 'settle' then entry.output_tokens end` },
} as const;

const entryRows = {
  table: 'ledger_entry',
  row: 'entry',
  time: 'created_at',
  idType: 'bigint',
  joins: '',
  columns: ledgerColumns,
} as const;
