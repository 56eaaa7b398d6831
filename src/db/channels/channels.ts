import type { AlarmName } from '../../domain/operators/alarm.ts';
import type { Database, Statements } from '../database.ts';

/** A credential of a channel. Its times are unix milliseconds, by the database clock. */
export interface ChannelCredential {
  id: string;
  sealed: string;
  /** The id of the row for which it was sealed: its own, or the channel's for the first one. */
  sealedFor: string;
  /** Its last characters as they are noted; null if they are not. */
  last4: string | null;
  /** It cools down until then; 0 if it does not. */
  unavailableUntilMs: number;
  /** The reason why an operator is needed. */
  alarm: string | null;
}

/** A configured upstream as the draw and its callers need it, with a sealed credential. */
export interface ChannelRow {
  id: string;
  name: string;
  adapter: string;
  baseUrl: string;
  /** The credential that a call sends: the one that was drawn (`withCredential`), else the first that does not cool down. */
  credential: ChannelCredential;
  /** All of them, the oldest first. */
  credentials: readonly ChannelCredential[];
  /** Whether it has, or ever had, more than one. Then each attempt of a task says which one it sent. */
  isPooled: boolean;
  /** Whether it or one of its credentials has a limit, against which each call is counted. */
  isLimited: boolean;
  groups: string[];
  priority: number;
  weight: number;
  enabled: boolean;
  /** Whether the provider's model list decides which mappings are drawn. */
  listCheck: boolean;
  /** By model id (or `*` for all): the unix milliseconds, by the database clock, until which it is tripped or cooling down. */
  unavailableUntil: Record<string, number>;
  /** Models with failures, a trip or an alarm that the next success clears. */
  troubledModels: string[];
  /** Models whose breaker tripped and that have not succeeded since. A call for one needs a claim (`claimChannel`). */
  trippedModels: string[];
  /** Those of `trippedModels` whose last failure was that the provider could not be reached. A worker probes their channel. */
  unreachableModels: string[];
  /** By model id: the state of a mapping that is not drawn. */
  notDrawn: Record<string, string>;
  /** By model id (or `*`): the reason why an operator is needed. */
  alarms: Record<string, string>;
}

/** All channels with their health, and the time of the database clock, by which their times are meant. */
export async function listChannels(database: Database): Promise<{ channels: ChannelRow[]; nowMs: number }> {
  const rows = await database.query<ListedChannel>(
    'list-channels',
    // While its probe runs, a channel takes no other call.
    `select c.id, c.name, c.adapter, c.base_url, c.credential, c.credential_id, c.pooled_at is not null as is_pooled,
       coalesce(c.rpm, c.tpm, c.parallel) is not null or exists (
         select from channel_credential k where k.channel_id = c.id and coalesce(k.rpm, k.tpm, k.parallel) is not null) as is_limited, c.groups, c.priority, c.weight, c.enabled, c.list_check,
       coalesce((select jsonb_object_agg(h.model_id, extract(epoch from greatest(h.unavailable_until, h.probe_until)) * 1000) from channel_health h
        where h.channel_id = c.id and greatest(h.unavailable_until, h.probe_until) > clock_timestamp()), '{}') as unavailable_until,
       array(select h.model_id from channel_health h
        where h.channel_id = c.id and (h.failures > 0 or h.trips > 0 or h.alarm is not null)) as troubled_models,
       array(select h.model_id from channel_health h where h.channel_id = c.id and h.trips > 0) as tripped_models,
       array(select h.model_id from channel_health h where h.channel_id = c.id and h.trips > 0 and h.reason = 'connect') as unreachable_models,
       coalesce((select jsonb_object_agg(s.model_id, s.state) from channel_mapping_state s
        where s.channel_id = c.id and s.state is not null), '{}') as not_drawn,
       coalesce((select jsonb_object_agg(h.model_id, h.alarm) from channel_health h
        where h.channel_id = c.id and h.alarm is not null), '{}') as alarms,
       (select jsonb_agg(jsonb_build_object('id', k.id, 'sealed', k.credential, 'last4', k.last4, 'alarm', k.alarm,
          'unavailableUntilMs', coalesce(extract(epoch from k.unavailable_until) * 1000, 0)) order by k.created_at, k.id)
        from channel_credential k where k.channel_id = c.id) as pool,
       extract(epoch from clock_timestamp())::float8 * 1000 as now_ms
     from channel c order by c.priority, c.name`,
  );
  return { channels: rows.map(channelOf), nowMs: rows[0]?.nowMs ?? 0 };
}

/** A row of the list. A member of `pool` without a secret is the first credential, whose secret stands in the channel's own row. */
interface ListedChannel extends Omit<ChannelRow, 'credential' | 'credentials'> {
  credential: string;
  credentialId: string;
  pool: (Omit<ChannelCredential, 'sealed' | 'sealedFor'> & { sealed: string | null })[] | null;
  nowMs: number;
}

function channelOf({ pool, credential, credentialId, nowMs, ...row }: ListedChannel): ChannelRow {
  const own = { id: credentialId, sealed: credential, sealedFor: row.id };
  const unnoted = { ...own, last4: null, unavailableUntilMs: 0, alarm: null };
  const listed = (pool ?? []).flatMap(({ sealed, ...member }): ChannelCredential[] => {
    if (member.id === credentialId) return [{ ...member, ...own }];
    return sealed === null ? [] : [{ ...member, sealed, sealedFor: member.id }];
  });
  const first = listed.find(({ id }) => id === credentialId) ?? unnoted;
  const credentials = listed.includes(first) ? listed : [first, ...listed];
  // While every credential cools down, so does the channel.
  const allRestUntilMs = Math.min(...credentials.map(({ unavailableUntilMs }) => unavailableUntilMs));
  const unavailableUntil =
    allRestUntilMs > Math.max(nowMs, row.unavailableUntil['*'] ?? 0)
      ? { ...row.unavailableUntil, '*': allRestUntilMs }
      : row.unavailableUntil;
  const ready = credentials.find(({ unavailableUntilMs }) => unavailableUntilMs <= nowMs);
  return { ...row, unavailableUntil, credential: ready ?? first, credentials };
}

/** The channel as a call with this credential sees it; null if it has no such credential. */
export function withCredential(channel: ChannelRow, credentialId: string): ChannelRow | null {
  if (channel.credential.id === credentialId) return channel;
  const credential = channel.credentials.find(({ id }) => id === credentialId);
  return credential ? { ...channel, credential } : null;
}

/** Keeps a channel out of the draw for `seconds`, for one model or all (`*`). A longer cool-down that is already set stays. */
export const coolDownChannel = (
  database: Statements,
  { channelId, modelId, seconds, reason }: { channelId: string; modelId: string; seconds: number; reason: string },
): Promise<void> => database.value('rest_channel', [channelId, modelId, seconds, reason]);

/** A call of a channel for a model, as its outcome is reported to the circuit breaker. */
export interface ChannelCall {
  channelId: string;
  modelId: string;
  /** How long ago the call began. A call that began before a trip proves nothing about the time after it. */
  ageSeconds: number;
}

/** Counts a failure; true if it tripped the breaker of the channel and model. `trip` trips it without further counting. */
export const noteChannelFailure = (
  database: Statements,
  { channelId, modelId, ageSeconds, reason, trip }: ChannelCall & { reason: string; trip: boolean },
  bounds: { failuresMax: number; trippedSeconds: number; trippedMaxSeconds: number },
): Promise<boolean> =>
  database.value('note_channel_failure', [
    channelId,
    modelId,
    reason,
    ageSeconds,
    trip,
    bounds.failuresMax,
    bounds.trippedSeconds,
    bounds.trippedMaxSeconds,
  ]);

/** Ends failures, trips and alarms; true if there were any. */
export const noteChannelSuccess = (
  database: Database,
  { channelId, modelId, ageSeconds }: ChannelCall,
): Promise<boolean> => database.value('note_channel_success', [channelId, modelId, ageSeconds]);

/** One project's use of a channel for a model. */
export interface ChannelUse {
  channelId: string;
  modelId: string;
  projectId: string;
}

/**
 * Notes what a use came to. `failed`: it timed out or met a bare 403, which one project's requests can cause. True if such a failure
 * counts: another project's last call failed in the same way within `windowSeconds`, or no other used the channel in `usedSeconds`.
 */
export const noteChannelUse = (
  database: Database,
  { channelId, modelId, projectId }: ChannelUse,
  failed: boolean | null,
  { windowSeconds, usedSeconds }: { windowSeconds: number; usedSeconds: number },
): Promise<boolean> =>
  database.value('note_channel_use', [channelId, modelId, projectId, failed, windowSeconds, usedSeconds]);

/** Raises an alarm for operators, for one model or all (`*`); true if it is new. */
export const raiseChannelAlarm = (
  database: Database,
  { channelId, modelId, alarm }: { channelId: string; modelId: string; alarm: AlarmName },
): Promise<boolean> => database.value('raise_channel_alarm', [channelId, modelId, alarm]);

/**
 * Whether a call of this project may go to the channel now. After a trip, one probe at a time may go until one succeeds. The project of
 * the last probe waits for the others that use the channel.
 */
export const claimChannel = (
  database: Database,
  { channelId, modelId, projectId }: ChannelUse,
  probeSeconds: number,
): Promise<boolean> => database.value('claim_channel', [channelId, modelId, projectId, probeSeconds]);

/** Ends a probe that was not sent or proves nothing about the channel, so that the next call may be the probe. */
export async function releaseChannel(
  database: Database,
  { channelId, modelId }: { channelId: string; modelId: string },
): Promise<void> {
  await database.query(
    'release-channel',
    `update channel_health set probe_until = clock_timestamp(), updated_at = clock_timestamp()
     where channel_id = $1 and model_id = $2 and probe_until > clock_timestamp()`,
    [channelId, modelId],
  );
}

/** Ends what failed free calls of a channel began: its failures and its trip for all models. True if there were any. */
export const endFreeCallFailures = (database: Database, channelId: string): Promise<boolean> =>
  database.returnsRow(
    'end-free-call-failures',
    `update channel_health set failures = 0, trips = 0, tripped_at = null, updated_at = clock_timestamp(),
       unavailable_until = case when trips > 0 then null else unavailable_until end, reason = case when trips > 0 then null else reason end
     where channel_id = $1 and model_id = '*' and (failures > 0 or trips > 0) returning channel_id`,
    [channelId],
  );

/** An enabled channel, with the models whose breaker is tripped now for the same reason. */
export interface TrippedChannel {
  channelId: string;
  reason: string;
  modelIds: string[];
  /** Of the newest row, as the database wrote it. A model that trips again after this must stay tripped. */
  updatedAt: string;
}

/** The tripped channels, each once per reason. Cool-downs are not included. */
export async function listTrippedChannels(database: Database): Promise<TrippedChannel[]> {
  return database.query<TrippedChannel>(
    'list-tripped-channels',
    `select h.channel_id, coalesce(h.reason, '') as reason, array_agg(h.model_id) as model_ids, max(h.updated_at)::text as updated_at
     from channel_health h join channel c on c.id = h.channel_id
     where h.unavailable_until > clock_timestamp() and h.trips > 0 and c.enabled group by h.channel_id, coalesce(h.reason, '')`,
  );
}

/**
 * Makes a tripped channel available again; false if it has tripped again since it was read or is available already. Trips because the
 * provider could not be reached do not lengthen the next one: a provider that comes back may fail a few more calls.
 */
export async function recoverChannel(database: Database, tripped: TrippedChannel): Promise<boolean> {
  return database.returnsRow(
    'recover-channel',
    `update channel_health set unavailable_until = null, trips = case when reason = 'connect' then 1 else trips end,
       updated_at = clock_timestamp()
     where channel_id = $1 and model_id = any ($2) and coalesce(reason, '') = $3 and updated_at <= $4::timestamptz
       and unavailable_until > clock_timestamp() returning model_id`,
    [tripped.channelId, tripped.modelIds, tripped.reason, tripped.updatedAt],
  );
}
