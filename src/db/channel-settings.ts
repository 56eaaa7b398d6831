import { LockMode, raw } from '@mikro-orm/core';
import type { Database } from './database.ts';
import { Channel } from './entities/channel.ts';
import { ChannelHealth } from './entities/channel-health.ts';
import { unixSeconds } from './unix-seconds.ts';

/** Why a channel, or one model of it, is not as it should be, by the database's clock. */
export interface ChannelReason {
  /**
   * `open`: the breaker is tripped · `half_open`: the next call is the probe · `resting`: the channel cools down after a 429 or
   * an account error · `alarm`: it needs an operator, until a call succeeds.
   */
  kind: 'open' | 'half_open' | 'resting' | 'alarm';
  /** `*` for all models. */
  model: string;
  reason: string | null;
  since: number | null;
  until: number | null;
  /** In a row, since the last trip. */
  failures: number;
  /** Trips since the last success: each one lasts longer. */
  opens: number;
}

export interface ChannelState {
  channelId: string;
  name: string;
  adapter: string;
  baseUrl: string;
  groups: string[];
  priority: number;
  weight: number;
  enabled: boolean;
  reasons: ChannelReason[];
}

/** All channels in the order of the draw. The credential is not among the columns. */
export async function listChannelStates(database: Database): Promise<ChannelState[]> {
  return database.query<ChannelState>({
    name: 'operator-channels',
    text: `select c.id as channel_id, c.name, c.adapter, c.base_url, c.groups, c.priority, c.weight, c.enabled,
             coalesce((select jsonb_agg(jsonb_build_object(
                         'kind', r.kind, 'model', h.model_id, 'reason', r.reason, 'since', ${unixSeconds('r.since')},
                         'until', ${unixSeconds('r.until')}, 'failures', h.failures, 'opens', h.opens) order by h.model_id, r.kind)
                       from channel_health h cross join lateral (
                         select case when h.opens > 0 then 'open' else 'resting' end as kind, h.reason, h.opened_at as since,
                                h.closed_until as until
                         where h.closed_until > clock_timestamp()
                         union all
                         select 'half_open', h.reason, h.opened_at, h.probe_until
                         where h.opens > 0 and (h.closed_until is null or h.closed_until <= clock_timestamp())
                         union all
                         select 'alarm', h.alarm, h.alarm_at, null where h.alarm is not null
                       ) r where h.channel_id = c.id), '[]') as reasons
           from channel c order by c.priority, c.name`,
  });
}

/** What an operator decides about a channel. The credential is sealed. */
export interface ChannelRecord {
  name: string;
  adapter: string;
  baseUrl: string;
  credential: string;
  groups: string[];
  priority: number;
  weight: number;
}

/** Adds a channel; false when there is one of that name. */
export async function insertChannel(database: Database, channelId: string, given: ChannelRecord): Promise<boolean> {
  const rows = await database.query(
    {
      name: 'operator-add-channel',
      text: `insert into channel (id, name, adapter, base_url, credential, groups, priority, weight)
             values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (name) do nothing returning id`,
    },
    [channelId, given.name, given.adapter, given.baseUrl, given.credential, given.groups, given.priority, given.weight],
  );
  return rows.length > 0;
}

export type UpdatedChannel = { channelId: string; before: ChannelRecord; after: ChannelRecord };

// A request lives while its credits are held. The attempt of a task that was ended over its head never tells an outcome.
const runningCall = `select 1 from attempt a join reservation r on r.id = a.request_id
                     where a.channel_id = ? and a.outcome is null and r.state = 'held' limit 1`;

/**
 * Changes what is given of the channel of this id or name, under its lock. `forgetHealth` begins its breaker anew. Another
 * adapter could not read the references of jobs that run, so it is `busy` while there are any.
 */
export async function updateChannel(
  database: Database,
  channel: string,
  change: (channelId: string) => Partial<ChannelRecord>,
  { forgetHealth }: { forgetHealth: boolean },
): Promise<UpdatedChannel | 'unknown' | 'name_taken' | 'busy'> {
  return (await database.orm()).em.fork().transactional(async (em) => {
    const row = await em.findOne(
      Channel,
      { $or: [{ id: channel }, { name: channel }] },
      { lockMode: LockMode.PESSIMISTIC_WRITE },
    );
    if (!row) return 'unknown';
    const record = (): ChannelRecord => ({
      name: row.name,
      adapter: row.adapter,
      baseUrl: row.baseUrl,
      credential: row.credential,
      groups: row.groups,
      priority: row.priority,
      weight: row.weight,
    });
    const before = record();
    const given = change(row.id);
    if (given.name !== undefined && given.name !== before.name && (await em.findOne(Channel, { name: given.name })))
      return 'name_taken';
    const isOtherAdapter = given.adapter !== undefined && given.adapter !== before.adapter;
    if (isOtherAdapter && (await em.execute<unknown[]>(runningCall, [row.id])).length > 0) return 'busy';
    em.assign(row, { ...given, updatedAt: new Date() });
    if (forgetHealth) await em.nativeDelete(ChannelHealth, { channelId: row.id });
    return { channelId: row.id, before, after: record() };
  });
}

/** Adds the groups that a channel lacks. */
export async function joinGroups(database: Database, channelId: string, groups: readonly string[]): Promise<void> {
  await database.query(
    {
      name: 'operator-join-groups',
      text: `update channel set updated_at = clock_timestamp(),
               groups = (select array_agg(distinct g order by g) from unnest(groups || $2::text[]) g)
             where id = $1 and not groups @> $2::text[]`,
    },
    [channelId, groups],
  );
}

/** Switches the channel of this id or name; null when there is none. A disabled one gets no new attempts. */
export async function switchChannel(
  database: Database,
  channel: string,
  enabled: boolean,
): Promise<{ channelId: string; name: string; changed: boolean } | null> {
  const em = (await database.orm()).em.fork();
  const named = { $or: [{ id: channel }, { name: channel }] };
  const updatedAt = raw<Date>('clock_timestamp()');
  const changed = await em.nativeUpdate(Channel, { ...named, enabled: { $ne: enabled } }, { enabled, updatedAt });
  const row = await em.findOne(Channel, named);
  return row && { channelId: row.id, name: row.name, changed: changed > 0 };
}
