import type { Database } from './database.ts';

/** A configured upstream as the draw and the caller need it; the credential is still sealed. */
export interface ChannelRow {
  id: string;
  name: string;
  adapter: string;
  baseUrl: string;
  sealedCredential: string;
  groups: string[];
  priority: number;
  weight: number;
  enabled: boolean;
  /** Open or resting: model id (or `*` for all) → unix milliseconds by the database clock until which it gets no traffic. */
  closedUntil: Record<string, number>;
  /** Models with failures, an opening or an alarm that the next success clears. */
  troubledModels: string[];
  /** Models that were opened and have not succeeded since: a call needs a claim (`claimChannel`). */
  openedModels: string[];
  /** What an operator has to look at: model id (or `*`) → reason. */
  alarms: Record<string, string>;
}

/** All channels with their health, and the database's clock to judge it by. */
export async function listChannels(database: Database): Promise<{ channels: ChannelRow[]; nowMs: number }> {
  const rows = await database.query<{
    id: string;
    name: string;
    adapter: string;
    base_url: string;
    credential: string;
    groups: string[];
    priority: number;
    weight: number;
    enabled: boolean;
    closed_until: Record<string, number> | null;
    troubled: string[] | null;
    opened: string[] | null;
    alarms: Record<string, string> | null;
    now_ms: number;
  }>({
    name: 'list-channels',
    // While a probe is on its way its channel is as good as closed.
    text: `select c.id, c.name, c.adapter, c.base_url, c.credential, c.groups, c.priority, c.weight, c.enabled,
             (select jsonb_object_agg(h.model_id, extract(epoch from greatest(h.closed_until, h.probe_until)) * 1000) from channel_health h
              where h.channel_id = c.id and greatest(h.closed_until, h.probe_until) > clock_timestamp()) as closed_until,
             (select array_agg(h.model_id) from channel_health h
              where h.channel_id = c.id and (h.failures > 0 or h.opens > 0 or h.alarm is not null)) as troubled,
             (select array_agg(h.model_id) from channel_health h where h.channel_id = c.id and h.opens > 0) as opened,
             (select jsonb_object_agg(h.model_id, h.alarm) from channel_health h
              where h.channel_id = c.id and h.alarm is not null) as alarms,
             extract(epoch from clock_timestamp())::float8 * 1000 as now_ms
           from channel c order by c.priority, c.name`,
  });
  return {
    nowMs: rows[0]?.now_ms ?? 0,
    channels: rows.map((row) => ({
      id: row.id,
      name: row.name,
      adapter: row.adapter,
      baseUrl: row.base_url,
      sealedCredential: row.credential,
      groups: row.groups,
      priority: row.priority,
      weight: row.weight,
      enabled: row.enabled,
      closedUntil: row.closed_until ?? {},
      troubledModels: row.troubled ?? [],
      openedModels: row.opened ?? [],
      alarms: row.alarms ?? {},
    })),
  };
}

/** Keeps a channel out of the draw for `seconds`; `*` for all its models. */
export async function restChannel(
  database: Database,
  rest: { channelId: string; modelId: string; seconds: number; reason: string },
): Promise<void> {
  await database.query({ name: 'rest-channel', text: 'select rest_channel($1, $2, $3, $4)' }, [
    rest.channelId,
    rest.modelId,
    rest.seconds,
    rest.reason,
  ]);
}

/** One call of a channel for a model, as its outcome is told to the breaker. */
export interface ChannelCall {
  channelId: string;
  modelId: string;
  /** How long ago it began, in seconds: what began before an opening says nothing of the time after it. */
  ageSeconds: number;
}

export interface BreakerBounds {
  failuresMax: number;
  openSeconds: number;
  openMaxSeconds: number;
}

/** Counts a failure; true when it opened the channel for the model. `open` opens it at once. */
export async function noteChannelFailure(
  database: Database,
  { channelId, modelId, ageSeconds, reason, open }: ChannelCall & { reason: string; open: boolean },
  { failuresMax, openSeconds, openMaxSeconds }: BreakerBounds,
): Promise<boolean> {
  const [row] = await database.query<{ opened: boolean }>(
    { name: 'note-channel-failure', text: 'select note_channel_failure($1, $2, $3, $4, $5, $6, $7, $8) as opened' },
    [channelId, modelId, reason, ageSeconds, open, failuresMax, openSeconds, openMaxSeconds],
  );
  return row?.opened ?? false;
}

/** Ends failures, openings and alarms; true when there were any. */
export async function noteChannelSuccess(
  database: Database,
  { channelId, modelId, ageSeconds }: ChannelCall,
): Promise<boolean> {
  const [row] = await database.query<{ cleared: boolean }>(
    { name: 'note-channel-success', text: 'select note_channel_success($1, $2, $3) as cleared' },
    [channelId, modelId, ageSeconds],
  );
  return row?.cleared ?? false;
}

/** Puts a reason beside a channel for operators; true when it is new. `*` for all models. */
export async function raiseChannelAlarm(
  database: Database,
  { channelId, modelId, alarm }: { channelId: string; modelId: string; alarm: string },
): Promise<boolean> {
  const [row] = await database.query<{ raised: boolean }>(
    { name: 'raise-channel-alarm', text: 'select raise_channel_alarm($1, $2, $3) as raised' },
    [channelId, modelId, alarm],
  );
  return row?.raised ?? false;
}

/** Whether a call may go to the channel now; of a channel that was opened and not yet proved, one at a time may. */
export async function claimChannel(
  database: Database,
  { channelId, modelId, probeSeconds }: { channelId: string; modelId: string; probeSeconds: number },
): Promise<boolean> {
  const [row] = await database.query<{ claimed: boolean }>(
    { name: 'claim-channel', text: 'select claim_channel($1, $2, $3) as claimed' },
    [channelId, modelId, probeSeconds],
  );
  return row?.claimed ?? false;
}

/** Ends a probe that came to nothing or said nothing of the channel, so that the next call may be one. */
export async function releaseChannel(
  database: Database,
  { channelId, modelId }: { channelId: string; modelId: string },
): Promise<void> {
  await database.query(
    {
      name: 'release-channel',
      text: `update channel_health set probe_until = null, updated_at = clock_timestamp()
             where channel_id = $1 and model_id = $2 and probe_until > clock_timestamp()`,
    },
    [channelId, modelId],
  );
}

/** What the breaker keeps out of an enabled channel just now, and since when. */
export interface Closure {
  channelId: string;
  reason: string;
  /** `*` for all its models. */
  modelIds: string[];
  /** Of the newest row, as the database wrote it: what is closed again meanwhile must stay closed. */
  updatedAt: string;
}

/** Every enabled channel that the breaker has opened for some model, once for each reason. Rests are no part of it. */
export async function listClosures(database: Database): Promise<Closure[]> {
  const rows = await database.query<{
    channel_id: string;
    reason: string;
    model_ids: string[];
    updated_at: string;
  }>({
    name: 'list-closures',
    text: `select h.channel_id, coalesce(h.reason, '') as reason, array_agg(h.model_id) as model_ids, max(h.updated_at)::text as updated_at
           from channel_health h join channel c on c.id = h.channel_id
           where h.closed_until > clock_timestamp() and h.opens > 0 and c.enabled group by h.channel_id, coalesce(h.reason, '')`,
  });
  return rows.map((row) => ({
    channelId: row.channel_id,
    reason: row.reason,
    modelIds: row.model_ids,
    updatedAt: row.updated_at,
  }));
}

/** Ends a closure that was seen; false when there is a newer one, or none is left. */
export async function reopenChannel(database: Database, closure: Closure): Promise<boolean> {
  const rows = await database.query(
    {
      name: 'reopen-channel',
      text: `update channel_health set closed_until = null, updated_at = clock_timestamp()
             where channel_id = $1 and model_id = any ($2) and coalesce(reason, '') = $3 and updated_at <= $4::timestamptz
               and closed_until > clock_timestamp() returning model_id`,
    },
    [closure.channelId, closure.modelIds, closure.reason, closure.updatedAt],
  );
  return rows.length > 0;
}
