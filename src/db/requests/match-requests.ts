import { gaveBackUndelivered, isEndOfRequest, runningChat } from '../chat/chats.ts';
import { earlierPosition, type TimePosition } from '../../domain/time-position.ts';
import type { Bind } from '../list-order.ts';
import { positionOf, timeOfPosition } from '../time-position-sql.ts';
import type { RequestFilter } from './request-filter.ts';

/** Whether requests that run can match. They have no reason and no charge. */
export const mayRun = ({ outcome, reason, minCredits }: RequestFilter): boolean =>
  (outcome ?? 'running') === 'running' && reason === undefined && minCredits === undefined;

/** The holds of requests, which are as many as requests run. */
export function runningText(filter: RequestFilter, { microseconds, id }: TimePosition, bind: Bind): string {
  const conditions = [
    `(h.created_at, h.id) < (${timeOfPosition(bind(microseconds))}, ${bind(id)}::text)`,
    ...matchesRunning(filter, bind),
  ];
  return `select ${runningChat}, 'running.' || ${positionOf('h')} as position
    from hold h where ${conditions.join(' and ')} order by h.created_at desc, h.id desc`;
}

/** Conditions for rows of `hold h`. */
export function matchesRunning(
  { projectId, keyId, modelId, channel, type, minMs, createdFrom, createdBefore }: RequestFilter,
  bind: Bind,
): string[] {
  return [
    type === undefined ? 'true' : type === 'chat' ? `h.kind = 'chat'` : runningOfType(bind(type)),
    ...(projectId === undefined ? [] : [`h.project_id = ${bind(projectId)}`]),
    ...(keyId === undefined ? [] : [`h.key_id = ${bind(keyId)}`]),
    ...(modelId === undefined ? [] : [`h.model_id = ${bind(modelId)}`]),
    ...beganWithin('h.created_at', { createdFrom, createdBefore }, bind),
    ...(minMs === undefined ? [] : [tookAtLeast('clock_timestamp() - h.created_at', bind(minMs))]),
    ...(channel === undefined ? [] : [runningAt(bind(channel))]),
  ];
}

/** Running tasks have an index of their own, which is read once instead of the row of each. */
const runningOfType = (type: string): string =>
  `h.id = any (array(select t.id from task t where t.completed_at is null and t.admission = 'reserved' and t.type = ${type}))`;

/** The channel of the first call of a chat is in its hold, those of other calls are in `attempt`, which is read for all holds together. */
const runningAt = (channelId: string): string =>
  `(h.channel_id = ${channelId} or h.id = any (array(select a.request_id from attempt a
     where a.request_id = any (array(select id from hold)) and a.channel_id = ${channelId})))`;

/** What is read of the ledger, in its order and up to `scannedMax` entries, and what is compared with it. */
export function endedText(
  filter: RequestFilter,
  { position, scannedMax }: { position: TimePosition; scannedMax: number },
  bind: Bind,
): { scan: string; match: string[] } {
  const { keyId, projectId } = filter;
  const isOwned = keyId !== undefined || projectId !== undefined;
  const conditions = isOwned ? ownedRange(filter, position, bind) : idRange(filter, position, bind);
  const order = isOwned ? 'e.created_at desc, e.id desc' : 'e.id desc';
  const scan = `select * from ledger_entry e where ${conditions.join(' and ')} order by ${order}`;
  const match = [
    ...(keyId !== undefined && projectId !== undefined ? [`e.project_id = ${bind(projectId)}`] : []),
    ...matchesEnded(filter, bind, `select e.request_id from (${scan} limit ${scannedMax}) e`),
  ];
  return { scan, match };
}

/**
 * Conditions for rows of `ledger_entry e`, beside that of their project and their key: for those of a page, of which `scanned` selects the ids, or
 * for all of a range.
 */
export function matchesEnded(filter: RequestFilter, bind: Bind, scanned: string | null = null): string[] {
  const { modelId, channel, outcome, reason, type, minMs, minCredits } = filter;
  return [
    isEndOfRequest,
    ...(type === undefined ? [] : [type === 'chat' ? `not ${isOfTask}` : ofTaskType(bind(type))]),
    ...beganWithin('e.began_at', filter, bind),
    ...(modelId === undefined ? [] : [`e.model_id = ${bind(modelId)}`]),
    ...(outcome === undefined ? [] : [isOutcome[outcome]]),
    ...(reason === undefined ? [] : [endedFor(bind(reason), scanned)]),
    ...(minMs === undefined ? [] : [tookAtLeast('e.created_at - e.began_at', bind(minMs))]),
    ...(minCredits === undefined ? [] : [`-e.credits >= ${bind(minCredits)}`]),
    ...(channel === undefined ? [] : [wasCalled(bind(channel), scanned === null)]),
  ];
}

/**
 * The reason of a chat that was charged and given back stands on its adjustment. Those of a page are read together, because there may be many
 * adjustments, and a probe for each entry would read as many blocks.
 */
const endedFor = (reason: string, scanned: string | null): string =>
  `(e.reason = ${reason}::text or ${reason} = 'not_delivered' and e.reason is null and e.request_id in (
    select a.request_id from ledger_entry a where ${gaveBackUndelivered('a')}
      ${scanned === null ? '' : `and a.request_id = any (array(${scanned}))`}))`;

const isOfTask = `e.request_id like 'task\\_%'`;

/** Tasks of a type. A scalar subquery is never turned into a hash of the whole table. */
const ofTaskType = (type: string): string =>
  `(${isOfTask} and (select t.type from task t where t.id = e.request_id) = ${type})`;

const tookAtLeast = (span: string, milliseconds: string): string =>
  `${span} >= ${milliseconds}::bigint * interval '1 millisecond'`;

/** The entries of a key, or else of a project, by the index of their times. */
function ownedRange(
  { keyId, projectId, createdFrom, createdBefore }: RequestFilter,
  position: TimePosition,
  bind: Bind,
): string[] {
  const { microseconds, id } = earlierPosition(position, createdBefore && createdBefore + LONGEST_REQUEST_SECONDS);
  return [
    keyId === undefined ? `e.project_id = ${bind(projectId)}` : `e.key_id = ${bind(keyId)}`,
    `(e.created_at, e.id) < (${timeOfPosition(bind(microseconds))}, ${bind(Number(id))}::bigint)`,
    ...(createdFrom === undefined ? [] : [`e.created_at >= to_timestamp(${bind(createdFrom)})`]),
  ];
}

const isLeft = `has_left(e.reason)`;
const isOutcome: Readonly<Record<NonNullable<RequestFilter['outcome']>, string>> = {
  // Not in the ledger yet.
  running: 'false',
  succeeded: `e.kind = 'settle' and e.reason is null`,
  incomplete: `e.kind = 'settle' and e.reason is not null`,
  refunded: `e.kind = 'refund'`,
  refused: `e.kind = 'refund' and is_refusal(e.reason)`,
  left: isLeft,
  failed: `e.kind = 'refund' and not is_refusal(e.reason) and not ${isLeft}`,
};

/**
 * Entries are in the order of the ends, which come no later than this after the beginnings: a video has an hour (VIDEO_DEADLINE_SECONDS), and
 * the sweep ends it. All entries of this time are compared before the first one that matches, so it is short.
 */
const LONGEST_REQUEST_SECONDS = 7_200;

const beganWithin = (column: string, { createdFrom, createdBefore }: RequestFilter, bind: Bind): string[] => [
  ...(createdBefore === undefined ? [] : [`${column} < to_timestamp(${bind(createdBefore)})`]),
  ...(createdFrom === undefined ? [] : [`${column} >= to_timestamp(${bind(createdFrom)})`]),
];

/** Entries that were written at the same moment may have their ids the other way round. */
const SLACK = `interval '1 minute'`;

/** The entries of everybody, by their ids. */
export function idRange({ createdFrom, createdBefore }: RequestFilter, { id }: TimePosition, bind: Bind): string[] {
  const since = (seconds: number, slack: string): string =>
    `(select first_entry_since(to_timestamp(${bind(seconds)}) ${slack}))`;
  return [
    `e.id < ${bind(id === '' ? Number.MAX_SAFE_INTEGER : Number(id))}::bigint`,
    ...(createdBefore === undefined ? [] : [`e.id < ${since(createdBefore + LONGEST_REQUEST_SECONDS, `+ ${SLACK}`)}`]),
    ...(createdFrom === undefined ? [] : [`e.id >= ${since(createdFrom, `- ${SLACK}`)}`]),
  ];
}

/** The channel of a call that succeeded at first is in the entry, which also has its cost then. Those of all other calls are in `attempt`. */
const wasCalled = (channelId: string, isOfRange: boolean): string => {
  const call = `from attempt a where a.request_id = e.request_id and a.channel_id = ${channelId}`;
  // Where it is cheaper, `exists` becomes a hash of the whole table, and a scalar subquery never does.
  const isCall = isOfRange ? `exists (select ${call})` : `(select true ${call} limit 1)`;
  return `(e.channel_id = ${channelId} or (e.cost_micro_usd is null and ${isCall}))`;
};
