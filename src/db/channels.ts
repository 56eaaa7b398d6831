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
  /** Tripped or cooling down: model id (or `*` for all) → unix milliseconds by the database clock until which it gets no traffic. */
  unavailableUntil: Record<string, number>;
  /** Models with failures, a trip or an alarm that the next success clears. */
  troubledModels: string[];
  /** Models whose breaker was tripped and that have not succeeded since: a call needs a claim (`claimChannel`). */
  trippedModels: string[];
  /** What needs an operator: model id (or `*`) → reason. */
  alarms: Record<string, string>;
}

/** All channels with their health, and the database's clock to judge it by. */
export async function listChannels(database: Database): Promise<{ channels: ChannelRow[]; nowMs: number }> {
  const rows = await database.query<ChannelRow & { nowMs: number }>({
    name: 'list-channels',
    // While its probe runs, a channel takes no other call.
    text: `select c.id, c.name, c.adapter, c.base_url, c.credential as sealed_credential, c.groups, c.priority, c.weight, c.enabled,
             coalesce((select jsonb_object_agg(h.model_id, extract(epoch from greatest(h.closed_until, h.probe_until)) * 1000) from channel_health h
              where h.channel_id = c.id and greatest(h.closed_until, h.probe_until) > clock_timestamp()), '{}') as unavailable_until,
             array(select h.model_id from channel_health h
              where h.channel_id = c.id and (h.failures > 0 or h.opens > 0 or h.alarm is not null)) as troubled_models,
             array(select h.model_id from channel_health h where h.channel_id = c.id and h.opens > 0) as tripped_models,
             coalesce((select jsonb_object_agg(h.model_id, h.alarm) from channel_health h
              where h.channel_id = c.id and h.alarm is not null), '{}') as alarms,
             extract(epoch from clock_timestamp())::float8 * 1000 as now_ms
           from channel c order by c.priority, c.name`,
  });
  return { channels: rows, nowMs: rows[0]?.nowMs ?? 0 };
}

/** Keeps a channel out of the draw for `seconds`; `*` for all its models. */
export async function coolDownChannel(
  database: Database,
  coolDown: { channelId: string; modelId: string; seconds: number; reason: string },
): Promise<void> {
  await database.query({ name: 'cool-down-channel', text: 'select rest_channel($1, $2, $3, $4)' }, [
    coolDown.channelId,
    coolDown.modelId,
    coolDown.seconds,
    coolDown.reason,
  ]);
}

/** One call of a channel for a model, as its outcome is reported to the breaker. */
export interface ChannelCall {
  channelId: string;
  modelId: string;
  /** How long ago it began, in seconds: a call that began before a trip says nothing of the time after it. */
  ageSeconds: number;
}

export interface BreakerBounds {
  failuresMax: number;
  trippedSeconds: number;
  trippedMaxSeconds: number;
}

/** Counts a failure; true when it tripped the breaker of the channel and model. `trip` trips it without further counting. */
export async function noteChannelFailure(
  database: Database,
  { channelId, modelId, ageSeconds, reason, trip }: ChannelCall & { reason: string; trip: boolean },
  { failuresMax, trippedSeconds, trippedMaxSeconds }: BreakerBounds,
): Promise<boolean> {
  const [row] = await database.query<{ tripped: boolean }>(
    { name: 'note-channel-failure', text: 'select note_channel_failure($1, $2, $3, $4, $5, $6, $7, $8) as tripped' },
    [channelId, modelId, reason, ageSeconds, trip, failuresMax, trippedSeconds, trippedMaxSeconds],
  );
  return row?.tripped ?? false;
}

/** Ends failures, trips and alarms; true when there were any. */
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

/** Whether a call may go to the channel now. A channel that was tripped takes one call at a time until one succeeds. */
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

/** Ends a probe that was not sent or says nothing of the channel, so that the next call may be the probe. */
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

/** The models for which the breaker of an enabled channel is tripped now, for one reason. */
export interface TrippedChannel {
  channelId: string;
  reason: string;
  /** `*` for all its models. */
  modelIds: string[];
  /** Of the newest row, as the database wrote it: a model that was tripped again after this must stay tripped. */
  updatedAt: string;
}

/** Every enabled channel whose breaker is tripped for some model, once for each reason. Cool-downs are not included. */
export async function listTrippedChannels(database: Database): Promise<TrippedChannel[]> {
  return database.query<TrippedChannel>({
    name: 'list-tripped-channels',
    text: `select h.channel_id, coalesce(h.reason, '') as reason, array_agg(h.model_id) as model_ids, max(h.updated_at)::text as updated_at
           from channel_health h join channel c on c.id = h.channel_id
           where h.closed_until > clock_timestamp() and h.opens > 0 and c.enabled group by h.channel_id, coalesce(h.reason, '')`,
  });
}

/** Makes a tripped channel available again; false when it was tripped again since it was read, or is available already. */
export async function recoverChannel(database: Database, tripped: TrippedChannel): Promise<boolean> {
  const rows = await database.query(
    {
      name: 'recover-channel',
      text: `update channel_health set closed_until = null, updated_at = clock_timestamp()
             where channel_id = $1 and model_id = any ($2) and coalesce(reason, '') = $3 and updated_at <= $4::timestamptz
               and closed_until > clock_timestamp() returning model_id`,
    },
    [tripped.channelId, tripped.modelIds, tripped.reason, tripped.updatedAt],
  );
  return rows.length > 0;
}
