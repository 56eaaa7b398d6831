import { pageOf, type Page, type PageRequest } from '../../domain/page.ts';
import { newestPosition, readTimePosition, type TimePosition } from '../../domain/time-position.ts';
import { boundedText, OPERATOR_PAGE_BYTES_MAX, withoutBounds, type Bounded } from '../bounded-page.ts';
import { chatColumns, endedChat, runningChat, withCalls } from '../chat/chats.ts';
import type { Database } from '../database.ts';
import { positionOf } from '../time-position-sql.ts';
import { endedText, mayRun, runningText } from './match-requests.ts';
import type { RequestFilter, RequestView } from './request-filter.ts';

/** Matches the position of a request in the list: among those that run by the time of its hold, or else by the time of its end. */
export const requestPosition = /^(?:running|ended)\.\d{1,16}\.[\w-]{1,64}$/;

/** Entries of the ledger that are compared with the filter for one page. */
const SCANNED_MAX = 5_000;

/**
 * One page of the requests of all projects, for operators: those that run, then those that have ended, each newest first.
 *
 * The entries of a key, of a project or of all are read in their order by an index, and compared with the rest of the filter. If
 * `scannedMax` of them do not fill the page, it has fewer requests than `limit`, perhaps none, and a further page. So its cost does not depend
 * on how many requests the filter leaves out.
 */
export async function listNewestRequests(
  database: Database,
  filter: RequestFilter,
  { limit, after }: PageRequest,
  scannedMax = SCANNED_MAX,
): Promise<Page<RequestView>> {
  const channelId = filter.channel === undefined ? undefined : await findChannelId(database, filter.channel);
  if (channelId === null) return { items: [], next: null };
  const start = startOf(after);
  const parts = {
    running: mayRun(filter) ? start.running : null,
    ended: filter.outcome === 'running' ? null : start.ended,
  };
  const statement = statementOf({ ...filter, channel: channelId }, parts, { limit, scannedMax });
  const rows = await database.query<RequestView & Bounded & { position: string | null; scannedTo: string | null }>(
    statement.name,
    boundedText(statement.text, OPERATOR_PAGE_BYTES_MAX),
    statement.values,
  );
  const found = rows.filter(({ position }) => position !== null);
  const page = pageOf(found, limit, ({ position }) => position ?? '', found[0]?.pageFound ?? 0);
  const items = page.items
    .map(withoutBounds)
    .map(({ position: _position, scannedTo: _scannedTo, ...request }) => request);
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
  filter: RequestFilter,
  parts: Parts,
  { limit, scannedMax }: { limit: number; scannedMax: number },
): { name: string; text: string; values: unknown[] } {
  const values: unknown[] = [];
  const bind = (value: unknown): string => `$${values.push(value)}`;
  const most = bind(limit + 1);
  const running = parts.running === null ? null : runningText(filter, parts.running, bind);
  const ended = parts.ended === null ? null : endedText(filter, { position: parts.ended, scannedMax }, bind);
  const text = `
    with running as materialized (${running === null ? `select ${runningChat}, null::text as position from hold h where false` : `${running} limit ${most}`}),
    ended as materialized (
      ${
        ended === null
          ? `select ${endedChat}, null::text as position from ledger_entry e where false`
          : `select ${endedChat}, 'ended.' || ${positionOf('e')} as position
             from (${ended.scan} limit ${scannedMax}) e where ${ended.match.join(' and ')} limit ${most}`
      }),
    chat as materialized (
      select *, row_number() over () as n from (select * from running union all select * from ended) found limit ${most}),
    scan as (
      select ${
        ended === null
          ? 'null::text'
          : `case when (select count(*) from chat) < ${most} then (
               select 'ended.' || ${positionOf('e')} from (${ended.scan} offset ${scannedMax - 1} limit 1) e) end`
      } as scanned_to)
    select ${requestColumns}, chat.position, scan.scanned_to
    from scan left join chat on true ${withCalls} ${withTask} order by chat.n`;
  return { name: `list-requests-${scannedMax}-${requestFilterShape({ ...filter, ...parts })}`, text, values };
}

const isOfTask = `chat.request_id like 'task\\_%'`;
/** The columns of `RequestView`. A task has the id of the request that created it. */
export const requestColumns = `${chatColumns}, coalesce(t.request_id, chat.request_id) as request_id, case when ${isOfTask} then chat.request_id end as task_id,
  case when ${isOfTask} then coalesce(t.type, (select m.entry ->> 'type' from model m where m.id = chat.model_id)) else 'chat' end as type,
  coalesce((select p.name from project p where p.id = chat.project_id), '') as project_name,
  coalesce((select k.name from api_key k where k.id = chat.key_id), '') as key_name`;
export const withTask = `left join lateral (
    select t.request_id, t.type from task t where ${isOfTask} and t.id = chat.request_id limit 1) t on true`;

/** A letter for each condition, because PostgreSQL cuts names of statements at 63 characters. Outcome and type add five of their value. */
const letters: Readonly<Record<keyof RequestFilter | 'running' | 'ended', string>> = {
  projectId: 'p',
  keyId: 'k',
  modelId: 'm',
  channel: 'c',
  outcome: 'o',
  reason: 'r',
  type: 't',
  createdFrom: 'f',
  createdBefore: 'b',
  minMs: 'l',
  minCredits: 'd',
  running: 'R',
  ended: 'E',
};

export const requestFilterShape = (conditions: RequestFilter & Partial<Parts>): string =>
  (Object.keys(letters) as (keyof typeof letters)[])
    .filter((name) => conditions[name] !== undefined && conditions[name] !== null)
    .map((name) => letters[name] + (name === 'outcome' || name === 'type' ? (conditions[name]?.slice(0, 5) ?? '') : ''))
    .join('');
