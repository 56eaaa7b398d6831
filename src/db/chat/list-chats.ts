import type { ChatEndReason } from '../../domain/chat/chat-end-reason.ts';
import { pageOf, type Page, type PageRequest } from '../../domain/page.ts';
import { earlierPosition, newestPosition, readTimePosition, type TimePosition } from '../../domain/time-position.ts';
import { boundedText, OPERATOR_PAGE_BYTES_MAX, withoutBounds, type Bounded } from '../bounded-page.ts';
import {
  chatColumns,
  endedChat,
  isEndOfChat,
  runningChat,
  withCalls,
  type ChatOutcome,
  type ChatView,
} from './chats.ts';
import type { Database } from '../database.ts';
import { timeOfPosition } from '../time-position-sql.ts';

export interface ChatFilter {
  projectId?: string | undefined;
  keyId?: string | undefined;
  modelId?: string | undefined;
  /** The name or the id of a channel that was called. */
  channel?: string | undefined;
  outcome?: ChatOutcome | undefined;
  reason?: ChatEndReason | undefined;
  /** Unix seconds: chats that began at this time or later. */
  createdFrom?: number | undefined;
  /** Unix seconds: chats that began earlier. */
  createdBefore?: number | undefined;
}

/** Matches the position of a chat in the list: among those that run by the time of its hold, or else by the time of its end. */
export const chatPosition = /^(?:running|ended)\.\d{1,16}\.[\w-]{1,64}$/;

/** Entries of the ledger that are compared with the filter for one page. */
const SCANNED_MAX = 5_000;

/**
 * One page of the chats of all projects, for operators: those that run, then those that have ended, each newest first.
 *
 * The entries of a key, of a project or of all are read in their order by an index, and compared with the rest of the filter. If
 * `scannedMax` of them do not fill the page, it has fewer chats than `limit`, perhaps none, and a further page. So its cost does not depend
 * on how many chats the filter leaves out.
 */
export async function listChats(
  database: Database,
  filter: ChatFilter,
  { limit, after }: PageRequest,
  scannedMax = SCANNED_MAX,
): Promise<Page<ChatView>> {
  const channelId = filter.channel === undefined ? undefined : await findChannelId(database, filter.channel);
  if (channelId === null) return { items: [], next: null };
  const start = startOf(after);
  const { outcome, reason } = filter;
  // Those that run have no reason.
  const mayRun = (outcome ?? 'running') === 'running' && reason === undefined;
  const parts = {
    running: mayRun ? start.running : null,
    ended: outcome === 'running' ? null : start.ended,
  };
  const statement = statementOf({ ...filter, channel: channelId }, parts, { limit, scannedMax });
  const rows = await database.query<ChatView & Bounded & { position: string | null; scannedTo: string | null }>(
    statement.name,
    boundedText(statement.text, OPERATOR_PAGE_BYTES_MAX),
    statement.values,
  );
  const found = rows.filter(({ position }) => position !== null);
  const page = pageOf(found, limit, ({ position }) => position ?? '', found.length === 0 ? 0 : found[0]?.pageFound);
  const items = page.items.map(withoutBounds).map(({ position: _position, scannedTo: _scannedTo, ...chat }) => chat);
  return { items, next: page.next ?? rows[0]?.scannedTo ?? null };
}

export async function findChannelId(database: Database, named: string): Promise<string | null> {
  const rows = await database.query<{ id: string }>(
    'find-channel-id',
    'select id from channel where id = $1 or name = $1',
    [named],
  );
  return rows[0]?.id ?? null;
}

/** Where each part of the list begins; null for a part before the page. */
function startOf(after: string | null): { running: TimePosition | null; ended: TimePosition } {
  if (after === null) return { running: newestPosition, ended: newestPosition };
  const position = readTimePosition(after.slice(after.indexOf('.') + 1));
  return after.startsWith('running.')
    ? { running: position, ended: newestPosition }
    : { running: null, ended: position };
}

interface Parts {
  running: TimePosition | null;
  ended: TimePosition | null;
}

/** A statement whose text has only the conditions that are asked for. */
function statementOf(
  filter: ChatFilter,
  parts: Parts,
  { limit, scannedMax }: { limit: number; scannedMax: number },
): { name: string; text: string; values: unknown[] } {
  const values: unknown[] = [];
  const bind = (value: unknown): string => `$${values.push(value)}`;
  const most = bind(limit + 1);
  const running = parts.running === null ? null : runningText(filter, parts.running, bind);
  const ended = parts.ended === null ? null : endedText(filter, parts.ended, bind);
  const text = `
    with running as materialized (${running === null ? `select ${runningChat}, null::text as position from hold h where false` : `${running} limit ${most}`}),
    ended as materialized (
      ${
        ended === null
          ? `select ${endedChat}, null::text as position from ledger_entry e where false`
          : `select ${endedChat}, 'ended.' || ${microsecondsOf('e.created_at')} || '.' || e.id as position
             from (${ended.scan} limit ${scannedMax}) e where ${[isEndOfChat, ...ended.match].join(' and ')} limit ${most}`
      }),
    chat as materialized (
      select *, row_number() over () as n from (select * from running union all select * from ended) found limit ${most}),
    scan as (
      select ${
        ended === null
          ? 'null::text'
          : `case when (select count(*) from chat) < ${most} then (
               select 'ended.' || ${microsecondsOf('e.created_at')} || '.' || e.id from (${ended.scan} offset ${scannedMax - 1} limit 1) e) end`
      } as scanned_to)
    select ${chatColumns}, chat.position, scan.scanned_to from scan left join chat on true ${withCalls} order by chat.n`;
  return { name: `list-chats-${scannedMax}-${chatFilterShape({ ...filter, ...parts })}`, text, values };
}

/** A letter for each condition, and one for the outcome, whose condition is in the text, because PostgreSQL cuts names of statements at 63 characters. */
const letters: Readonly<Record<keyof ChatFilter | keyof Parts, string>> = {
  projectId: 'p',
  keyId: 'k',
  modelId: 'm',
  channel: 'c',
  outcome: 'o',
  reason: 'r',
  createdFrom: 'f',
  createdBefore: 'b',
  running: 'R',
  ended: 'E',
};

export const chatFilterShape = (conditions: ChatFilter & Partial<Parts>): string =>
  (Object.keys(letters) as (keyof typeof letters)[])
    .filter((name) => conditions[name] !== undefined && conditions[name] !== null)
    .map((name) => letters[name] + (name === 'outcome' ? (conditions.outcome?.[0] ?? '') : ''))
    .join('');

type Bind = (value: unknown) => string;

const microsecondsOf = (time: string): string => `(extract(epoch from ${time}) * 1000000)::bigint::text`;

/** The holds of chats, which are as many as requests run. */
function runningText(filter: ChatFilter, { microseconds, id }: TimePosition, bind: Bind): string {
  const conditions = [
    `(h.created_at, h.id) < (${timeOfPosition(bind(microseconds))}, ${bind(id)}::text)`,
    ...matchesRunning(filter, bind),
  ];
  return `select ${runningChat}, 'running.' || ${microsecondsOf('h.created_at')} || '.' || h.id as position
    from hold h where ${conditions.join(' and ')} order by h.created_at desc, h.id desc`;
}

/** Conditions for rows of `hold h`. */
export function matchesRunning(
  { projectId, keyId, modelId, channel, createdFrom, createdBefore }: ChatFilter,
  bind: Bind,
): string[] {
  return [
    `h.kind = 'chat'`,
    ...(projectId === undefined ? [] : [`h.project_id = ${bind(projectId)}`]),
    ...(keyId === undefined ? [] : [`h.key_id = ${bind(keyId)}`]),
    ...(modelId === undefined ? [] : [`h.model_id = ${bind(modelId)}`]),
    ...beganWithin('h.created_at', { createdFrom, createdBefore }, bind),
    ...(channel === undefined ? [] : [wasCalled(bind(channel), 'h.channel_id', 'h.id')]),
  ];
}

/** What is read of the ledger, in its order, and what is compared with it. */
function endedText(filter: ChatFilter, position: TimePosition, bind: Bind): { scan: string; match: string[] } {
  const { keyId, projectId } = filter;
  const isOwned = keyId !== undefined || projectId !== undefined;
  const conditions = isOwned ? ownedRange(filter, position, bind) : idRange(filter, position, bind);
  const match = [
    ...(keyId !== undefined && projectId !== undefined ? [`e.project_id = ${bind(projectId)}`] : []),
    ...matchesEnded(filter, bind),
  ];
  const order = isOwned ? 'e.created_at desc, e.id desc' : 'e.id desc';
  return { scan: `select * from ledger_entry e where ${conditions.join(' and ')} order by ${order}`, match };
}

/** Conditions for rows of `ledger_entry e`, beside that of their project and their key. */
export function matchesEnded(filter: ChatFilter, bind: Bind): string[] {
  const { modelId, channel, outcome, reason } = filter;
  return [
    ...beganWithin('e.began_at', filter, bind),
    ...(modelId === undefined ? [] : [`e.model_id = ${bind(modelId)}`]),
    ...(outcome === undefined ? [] : [isOutcome[outcome]]),
    ...(reason === undefined ? [] : [`e.reason = ${bind(reason)}`]),
    ...(channel === undefined
      ? []
      : [wasCalled(bind(channel), 'e.channel_id', 'e.request_id', 'e.cost_micro_usd is null')]),
  ];
}

/** The entries of a key, or else of a project, by the index of their times. */
function ownedRange({ keyId, projectId, createdFrom, createdBefore }: ChatFilter, position: TimePosition, bind: Bind) {
  const { microseconds, id } = earlierPosition(position, createdBefore && createdBefore + LONGEST_CHAT_SECONDS);
  return [
    keyId === undefined ? `e.project_id = ${bind(projectId)}` : `e.key_id = ${bind(keyId)}`,
    `(e.created_at, e.id) < (${timeOfPosition(bind(microseconds))}, ${bind(Number(id))}::bigint)`,
    ...(createdFrom === undefined ? [] : [`e.created_at >= to_timestamp(${bind(createdFrom)})`]),
  ];
}

const isOutcome: Readonly<Record<ChatOutcome, string>> = {
  // Not in the ledger yet.
  running: 'false',
  succeeded: `e.kind = 'settle' and e.reason is null`,
  incomplete: `e.kind = 'settle' and e.reason is not null`,
  refunded: `e.kind = 'refund'`,
};

/**
 * Entries are in the order of the ends, which come no later than this after the beginnings, as `rebuild_summary` counts too. All entries
 * of this time are compared before the first one that matches, so it is short.
 */
const LONGEST_CHAT_SECONDS = 3_600;

const beganWithin = (column: string, { createdFrom, createdBefore }: ChatFilter, bind: Bind): string[] => [
  ...(createdBefore === undefined ? [] : [`${column} < to_timestamp(${bind(createdBefore)})`]),
  ...(createdFrom === undefined ? [] : [`${column} >= to_timestamp(${bind(createdFrom)})`]),
];

/** Entries that were written at the same moment may have their ids the other way round. */
const SLACK = `interval '1 minute'`;

/** The entries of everybody, by their ids. */
export function idRange({ createdFrom, createdBefore }: ChatFilter, { id }: TimePosition, bind: Bind) {
  const since = (seconds: number, slack: string): string =>
    `(select first_entry_since(to_timestamp(${bind(seconds)}) ${slack}))`;
  return [
    `e.id < ${bind(id === '' ? Number.MAX_SAFE_INTEGER : Number(id))}::bigint`,
    ...(createdBefore === undefined ? [] : [`e.id < ${since(createdBefore + LONGEST_CHAT_SECONDS, `+ ${SLACK}`)}`]),
    ...(createdFrom === undefined ? [] : [`e.id >= ${since(createdFrom, `- ${SLACK}`)}`]),
  ];
}

/** The channel of a call that succeeded at first is in the hold and in the entry, which also has its cost then. Those of all other calls are in `attempt`. */
const wasCalled = (channelId: string, own: string, requestId: string, mayHaveMore = 'true'): string =>
  // A scalar subquery is never turned into a hash of the whole table.
  `(${own} = ${channelId} or (${mayHaveMore} and
     (select true from attempt a where a.request_id = ${requestId} and a.channel_id = ${channelId} limit 1)))`;
