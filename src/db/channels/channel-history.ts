import { toMembers } from '../column-names.ts';
import type { Database } from '../database.ts';
import { longTransaction } from '../long-transaction.ts';

export const historySpans = { minute: 60, hour: 3_600 } as const;
export type HistorySpan = keyof typeof historySpans;

/** How the attempts of a channel ended in one minute or hour. */
export interface HistoryRow {
  channelId: string;
  span: HistorySpan;
  /** The beginning of the minute or hour, in unix seconds. */
  at: number;
  ok: number;
  refused: number;
  transient: number;
  unknown: number;
  /** The successful ones by the class of their duration (`durationClass`). */
  durations: number[];
}

/** Adds to what is counted of these minutes and hours. Each of them is in `rows` once. */
export async function addToHistory(database: Database, rows: readonly HistoryRow[]): Promise<void> {
  await database.query(
    'add-to-channel-history',
    `insert into channel_history as h (channel_id, span, at, ok, refused, transient, unknown, durations)
     select channel_id, span, to_timestamp(at), ok, refused, transient, unknown, durations
     from jsonb_to_recordset($1::jsonb) as x (
       channel_id text, span text, at float8, ok int, refused int, transient int, unknown int, durations int[])
     -- Two processes that wait for each other's rows would be a deadlock.
     order by channel_id, span, at
     on conflict (channel_id, span, at) do update set
       ok = h.ok + excluded.ok, refused = h.refused + excluded.refused, transient = h.transient + excluded.transient,
       unknown = h.unknown + excluded.unknown,
       durations = array(select coalesce(a, 0) + coalesce(b, 0)
                         from unnest(h.durations, excluded.durations) with ordinality as d (a, b, n) order by n)`,
    [toMembers(rows)],
  );
}

/** The minutes or hours of a channel from a time on that had attempts, oldest first. It reads their rows and no others. */
export const readHistoryRows = (
  database: Database,
  { channelId, span, from }: { channelId: string; span: HistorySpan; from: number },
): Promise<Omit<HistoryRow, 'channelId' | 'span'>[]> =>
  database.query(
    'read-channel-history',
    `select extract(epoch from at)::float8 as at, ok, refused, transient, unknown, durations from channel_history
     where channel_id = $1 and span = $2 and at >= to_timestamp($3) order by at`,
    [channelId, span, from],
  );

/** Deletes the minutes and hours of all channels that are older than these days, at most `limit` rows. Returns how many. */
export async function purgeHistory(
  database: Database,
  { minuteDays, hourDays }: { minuteDays: number; hourDays: number },
  limit: number,
): Promise<number> {
  const [row] = await longTransaction(database, (query) =>
    query<{ n: number }>(
      'purge-channel-history',
      `with due as (
         select ctid from channel_history
         where at < clock_timestamp() - make_interval(days => case span when 'minute' then $1::int else $2::int end)
         limit $3 for update skip locked
       ), gone as (delete from channel_history h using due where h.ctid = due.ctid returning 1)
       select count(*) as n from gone`,
      [minuteDays, hourDays, limit],
    ),
  );
  return row?.n ?? 0;
}
