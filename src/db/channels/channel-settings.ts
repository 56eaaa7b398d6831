import type { InferEntity } from '@mikro-orm/postgresql';
import type { Database, Transaction } from '../database.ts';
import type { Channel } from '../entities/channel.ts';
import { loadEntities } from '../entities/load-entities.ts';
import { changesOf, recordAudit } from '../operators/audit.ts';
import { unixSeconds } from '../unix-seconds.ts';
import type { ChannelLimitValues } from './channel-calls.ts';
import {
  changeCredentials,
  noteFirstCredential,
  resetCredentials,
  type CredentialChange,
  type CredentialSealing,
} from './channel-credentials.ts';

/** Why a channel, or one of its models, is not available or needs an operator. */
export interface ChannelReason {
  /**
   * `open`: the breaker is tripped · `half_open`: the next call is the probe · `resting`: it cools down after a 429 or an
   * account error, or the provider does not know the model · `alarm`: it needs an operator, until a call succeeds ·
   * `not_drawn`: the provider's list lacks the model.
   */
  kind: 'open' | 'half_open' | 'resting' | 'alarm' | 'not_drawn';
  /** `*` for all models. */
  model: string;
  reason: string | null;
  since: number | null;
  until: number | null;
  /** Failures in a row since the last trip. */
  failures: number;
  /** Trips since the last success. Each one lasts longer. */
  opens: number;
}

/** A credential of a channel as operators see it. Times are unix seconds. */
export interface CredentialState {
  id: string;
  /** Its last characters; null for one of an earlier release that no process has read yet. */
  last4: string | null;
  /** It cools down until then; null if it does not. */
  until: number | null;
  since: number | null;
  reason: string | null;
  alarm: string | null;
  limits: LimitState;
}

/** The limits of a channel or a credential, and what counts against them now. */
export interface LimitState extends ChannelLimitValues {
  used: Record<keyof ChannelLimitValues, number>;
  /** Seconds until it is drawn again; 0 while it is at no limit. */
  wait: number;
}

export interface ChannelState extends Omit<ChannelRecord, 'credential' | 'listCheck' | keyof ChannelLimitValues> {
  channelId: string;
  enabled: boolean;
  listCheck: boolean;
  reasons: ChannelReason[];
  /** The oldest first. */
  credentials: CredentialState[];
  limits: LimitState;
  /** Unix seconds. */
  createdAt: number;
}

/** SQL for the `LimitState` of a channel `c` or of its credential `k`. `column` of `channel_call` has the id of the subject. */
const limitState = (subject: 'c' | 'k', column: string): string => {
  const second = 'floor(extract(epoch from clock_timestamp()))::bigint';
  const running = `(select count(*) from running_channel_calls(c.id) r where r.${column} = ${subject}.id)`;
  const used = (of: string) =>
    `(select coalesce(sum(u.${of}), 0)::float8 from channel_use u where u.subject_id = ${subject}.id and u.second > ${second} - 61)`;
  const values = ['rpm', 'tpm', 'parallel'].map((name) => `'${name}', ${subject}.${name}`).join(', ');
  return `jsonb_build_object(${values},
    'used', jsonb_build_object('rpm', ${used('requests')}, 'tpm', ${used('tokens')}, 'parallel', ${running}),
    'wait', channel_limit_wait(${subject}.id, ${subject}.rpm, ${subject}.tpm, ${subject}.parallel, ${running}, 1, ${second}))`;
};

const noLimits = `jsonb_build_object('rpm', null, 'tpm', null, 'parallel', null, 'wait', 0,
  'used', jsonb_build_object('rpm', 0, 'tpm', 0, 'parallel', 0))`;

/** All channels in the order of the draw, or the one of this id or name. The credential is not among the columns. */
export async function listChannelStates(database: Database, channel?: string): Promise<ChannelState[]> {
  return database.query<ChannelState>(
    'operator-channels',
    `select c.id as channel_id, c.name, c.adapter, c.base_url, c.groups, c.priority, c.weight, c.enabled, c.list_check,
       coalesce((select jsonb_agg(jsonb_build_object(
                   'kind', r.kind, 'model', r.model_id, 'reason', r.reason, 'since', ${unixSeconds('r.since')},
                   'until', ${unixSeconds('r.until')}, 'failures', r.failures, 'opens', r.trips) order by r.model_id, r.kind)
                 from (select h.model_id, h.failures, h.trips, k.* from channel_health h cross join lateral (
                   select case when h.trips > 0 then 'open' else 'resting' end as kind, h.reason, h.tripped_at as since,
                          h.unavailable_until as until
                   where h.unavailable_until > clock_timestamp()
                   union all
                   select 'half_open', h.reason, h.tripped_at, case when h.probe_until > clock_timestamp() then h.probe_until end
                   where h.trips > 0 and (h.unavailable_until is null or h.unavailable_until <= clock_timestamp())
                   union all
                   select 'alarm', h.alarm, h.alarm_at, null where h.alarm is not null
                 ) k where h.channel_id = c.id
                 union all
                 select s.model_id, 0, 0, 'not_drawn', s.reason, s.since, null
                 from channel_mapping_state s where s.channel_id = c.id and s.state is not null
                 union all
                 select '*', 0, 0, 'resting', min(k.reason), max(k.since), min(k.unavailable_until)
                 from channel_credential k where k.channel_id = c.id
                 having bool_and(coalesce(k.unavailable_until > clock_timestamp(), false))) r), '[]') as reasons,
       coalesce((select jsonb_agg(jsonb_build_object(
                   'id', k.id, 'last4', k.last4, 'alarm', k.alarm, 'limits', ${limitState('k', 'credential_id')}, 'reason', case when k.unavailable_until > clock_timestamp() then k.reason end,
                   'since', case when k.unavailable_until > clock_timestamp() then ${unixSeconds('k.since')} end,
                   'until', case when k.unavailable_until > clock_timestamp() then ${unixSeconds('k.unavailable_until')} end)
                   order by k.created_at, k.id)
                 from channel_credential k where k.channel_id = c.id and (k.credential is not null or k.id = c.credential_id)),
         jsonb_build_array(jsonb_build_object('id', c.credential_id, 'last4', null, 'alarm', null, 'reason', null, 'since', null,
                                              'until', null, 'limits', ${noLimits}))) as credentials,
       ${limitState('c', 'channel_id')} as limits, ${unixSeconds('c.created_at')} as created_at
     from channel c where $1::text is null or c.id = $1 or c.name = $1 order by c.priority, c.name`,
    [channel ?? null],
  );
}

/** The settings of a channel. In the database the credential is sealed. */
export interface ChannelRecord {
  name: string;
  adapter: string;
  baseUrl: string;
  credential: string;
  groups: string[];
  priority: number;
  weight: number;
  /** Whether the provider's model list decides which mappings are drawn. Absent: it does. */
  listCheck?: boolean;
  /** Requests in a minute. These three: absent or null where there is no limit. */
  rpm?: number | null;
  /** Tokens in a minute. */
  tpm?: number | null;
  /** Calls at the same time. */
  parallel?: number | null;
}

/** Adds a channel, whose credential is sealed; false if its name is taken. */
export const insertChannel = (
  database: Database,
  {
    channelId,
    credentialId,
    last4,
    actor,
    ...record
  }: ChannelRecord & { channelId: string; credentialId: string; last4: string; actor: string },
): Promise<boolean> =>
  database.transaction('begin', async (query, inside) => {
    const rows = await query(
      'operator-add-channel',
      `insert into channel (id, name, adapter, base_url, credential, groups, priority, weight, list_check, credential_id)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) on conflict (name) do nothing returning id`,
      [
        channelId,
        record.name,
        record.adapter,
        record.baseUrl,
        record.credential,
        record.groups,
        record.priority,
        record.weight,
        record.listCheck ?? true,
        credentialId,
      ],
    );
    if (rows.length === 0) return false;
    await noteFirstCredential(inside, { channelId, credentialId, last4 });
    const { credential: _sealed, ...after } = record;
    await recordAudit(inside, { actor, action: 'channels.add', subject: channelId, before: null, after });
    return true;
  });

/** The id and the base URL of the channel of this name; null if there is none. */
export async function findChannelNamed(
  database: Database,
  name: string,
): Promise<{ channelId: string; baseUrl: string } | null> {
  const { Channel } = await loadEntities();
  const row = await (await database.entities()).findOne(Channel, { name });
  return row && { channelId: row.id, baseUrl: row.baseUrl };
}

// A call runs while the credits of its request are held. An attempt whose task was ended from outside never gets an outcome.
const runningCall = `select 1 as found from hold h where h.channel_id = $1
                     union all
                     select 1 from hold h join attempt a on a.request_id = h.id
                     where a.channel_id = $1 and a.outcome is null limit 1`;

interface ChannelChange {
  /** The id or the name. */
  channel: string;
  changes: Partial<ChannelRecord>;
  /** The last characters of a new credential. */
  last4: string | null;
  credentials: CredentialChange;
  sealing: CredentialSealing;
  /** Whether the circuit breaker of the channel is reset, and with `all` what its credentials wait for. */
  forgetHealth: 'all' | 'first' | false;
  actor: string;
}

/**
 * Changes the given settings and credentials of a channel, named by id or name, under its lock. Throws `CredentialRefused`. `busy`: the adapter
 * cannot be changed while calls run, because another adapter could not read their references.
 */
export const updateChannel = (
  database: Database,
  change: ChannelChange,
): Promise<{ channelId: string; after: ChannelRecord } | 'unknown' | 'name_taken' | 'busy'> =>
  database.transaction('begin', async (_query, inside) => {
    const { channel, changes, sealing, forgetHealth, actor } = change;
    const { Channel, ChannelHealth, LockMode } = await loadEntities();
    const em = await inside.entities();
    const lock = { lockMode: LockMode.PESSIMISTIC_WRITE } as const;
    const row = await em.findOne(Channel, { $or: [{ id: channel }, { name: channel }] }, lock);
    if (!row) return 'unknown';
    const { id: channelId } = row;
    const before = recordOf(row);
    const { credential, ...settings } = changes;
    if (
      settings.name !== undefined &&
      settings.name !== before.name &&
      (await em.findOne(Channel, { name: settings.name }))
    )
      return 'name_taken';
    const isOtherAdapter = settings.adapter !== undefined && settings.adapter !== before.adapter;
    if (isOtherAdapter && (await inside.returnsRow('running-call-of-channel', runningCall, [channelId]))) return 'busy';
    const sealed = credential === undefined ? {} : { credential: sealing.seal(credential, channelId) };
    em.assign(row, { ...settings, ...sealed, updatedAt: new Date() });
    const pool = await changePool(inside, row, change);
    await em.flush();
    if (forgetHealth) await em.nativeDelete(ChannelHealth, { channelId });
    if (forgetHealth || settings.listCheck === false) {
      await inside.query('forget-mapping-states', 'delete from channel_mapping_state where channel_id = $1', [
        channelId,
      ]);
      await em.nativeUpdate(ChannelHealth, { channelId, alarm: 'unlisted' }, { alarm: null, alarmAt: null });
    }
    const after = recordOf(row);
    const changed = changesOf(settings, before, after);
    await recordAudit(inside, {
      actor,
      action: 'channels.set',
      subject: channelId,
      before: { ...changed.before, ...(credential !== undefined && { credential: 'the earlier one' }), ...pool.before },
      after: { ...changed.after, ...(credential !== undefined && { credential: 'a new one' }), ...pool.after },
    });
    return { channelId, after };
  });

/** Changes the credentials of a locked channel. Returns what the audit log says about it: ids, never a secret. */
async function changePool(
  inside: Transaction,
  row: InferEntity<typeof Channel>,
  { changes, last4, credentials, sealing, forgetHealth }: ChannelChange,
): Promise<{ before: object; after: object }> {
  const { id: channelId, credentialId } = row;
  if (changes.credential !== undefined) await noteFirstCredential(inside, { channelId, credentialId, last4 });
  if (forgetHealth) {
    const only = forgetHealth === 'first' ? credentialId : null;
    await resetCredentials(inside, { channelId, credentialId: only });
  }
  if (Object.keys(credentials).length === 0) return { before: {}, after: {} };
  const ids = await changeCredentials(inside, row, credentials, sealing);
  return {
    before: { credentials: ids.before },
    after: { credentials: ids.after, ...(credentials.limit && { limitsOf: ids.limited, ...credentials.limit.limits }) },
  };
}

function recordOf(row: InferEntity<typeof Channel>): ChannelRecord {
  const { name, adapter, baseUrl, credential, groups, priority, weight, listCheck } = row;
  const { rpm = null, tpm = null, parallel = null } = row;
  return { name, adapter, baseUrl, credential, groups, priority, weight, listCheck, rpm, tpm, parallel };
}

/** Adds the groups that a channel lacks. */
export async function joinGroups(database: Database, channelId: string, groups: readonly string[]): Promise<void> {
  await database.query(
    'operator-join-groups',
    `update channel set updated_at = clock_timestamp(),
       groups = (select array_agg(distinct g order by g) from unnest(groups || $2::text[]) g)
     where id = $1 and not groups @> $2::text[]`,
    [channelId, groups],
  );
}

/** Enables or disables a channel, named by id or name, for new attempts; null if there is none. */
export const switchChannel = (
  database: Database,
  { channel, enabled, actor }: { channel: string; enabled: boolean; actor: string },
): Promise<{ channelId: string; name: string; changed: boolean } | null> =>
  database.transaction('begin', async (_query, inside) => {
    const { Channel, raw } = await loadEntities();
    const em = await inside.entities();
    const named = { $or: [{ id: channel }, { name: channel }] };
    const updatedAt = raw<Date>('clock_timestamp()');
    const changed = await em.nativeUpdate(Channel, { ...named, enabled: !enabled }, { enabled, updatedAt });
    const row = await em.findOne(Channel, named);
    if (row && changed > 0) {
      await recordAudit(inside, {
        actor,
        action: enabled ? 'channels.enable' : 'channels.disable',
        subject: row.id,
        before: { enabled: !enabled },
        after: { enabled },
        detail: { name: row.name },
      });
    }
    return row && { channelId: row.id, name: row.name, changed: changed > 0 };
  });
