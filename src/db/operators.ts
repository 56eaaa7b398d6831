import { LockMode } from '@mikro-orm/core';
import type { JsonObject } from '../domain/json.ts';
import type { AttemptOutcome, ErrorClass } from '../domain/upstream.ts';
import type { Database } from './database.ts';
import { ApiKey, Channel, ChannelHealth } from './entities/index.ts';

/** What operators look at and switch. Not for the hot path; times are unix seconds. */
export interface ProjectRow {
  project_id: string;
  name: string;
  status: 'active' | 'disabled';
  balance: number;
  reserved: number;
  created_at: number;
}

const unix = (column: string): string => `floor(extract(epoch from ${column}))::float8`;

/** The oldest projects first, with their credits. */
export async function listProjects(database: Database, limit: number): Promise<ProjectRow[]> {
  return database.query<ProjectRow & Record<string, unknown>>(
    {
      name: 'operator-projects',
      text: `select p.id as project_id, p.name, p.status, coalesce(a.balance, 0) as balance, coalesce(a.reserved, 0) as reserved,
               ${unix('p.created_at')} as created_at
             from project p left join credit_account a on a.project_id = p.id order by p.created_at, p.id limit $1`,
    },
    [limit],
  );
}

export interface KeyRow {
  key_id: string;
  project_id: string;
  name: string;
  state: 'active' | 'expired' | 'revoked';
  /** Of the newest secret; the secret itself is nowhere. */
  prefix: string | null;
  last4: string | null;
  models: string[] | null;
  rpm: number | null;
  in_flight_max: number | null;
  in_flight: number;
  budget: number | null;
  spent: number;
  reserved: number;
  expires_at: number | null;
  revoked_at: number | null;
  last_used_at: number | null;
  created_at: number;
}

/** The keys of one project, or of all, oldest first. */
export async function listKeys(database: Database, projectId: string | null, limit: number): Promise<KeyRow[]> {
  return database.query<KeyRow & Record<string, unknown>>(
    {
      name: 'operator-keys',
      text: `select k.id as key_id, k.project_id, k.name,
               case when k.revoked_at is not null then 'revoked' when k.expires_at <= clock_timestamp() then 'expired'
                    else 'active' end as state,
               s.prefix, s.last4, k.models, k.rpm, k.in_flight_max, k.in_flight, k.budget, k.spent, k.reserved,
               ${unix('k.expires_at')} as expires_at, ${unix('k.revoked_at')} as revoked_at,
               ${unix('k.last_used_at')} as last_used_at, ${unix('k.created_at')} as created_at
             from api_key k left join lateral (
               select prefix, last4 from api_key_secret where key_id = k.id order by created_at desc, id desc limit 1
             ) s on true
             where $1::text is null or k.project_id = $1 order by k.created_at, k.id limit $2`,
    },
    [projectId, limit],
  );
}

/** Marks a key as revoked, once; null when there is no such key. Admission itself reads the mark, so it counts at once. */
export async function markKeyRevoked(
  database: Database,
  keyId: string,
): Promise<{ projectId: string; revokedAt: number; changed: boolean } | null> {
  type Row = { project_id: string; revoked_at: number };
  const columns = `project_id, ${unix('revoked_at')} as revoked_at`;
  const [marked] = await database.query<Row>(
    {
      name: 'operator-revoke-key',
      text: `update api_key set revoked_at = clock_timestamp() where id = $1 and revoked_at is null returning ${columns}`,
    },
    [keyId],
  );
  if (marked) return { projectId: marked.project_id, revokedAt: marked.revoked_at, changed: true };
  const [before] = await database.query<Row>(
    { name: 'operator-revoked-key', text: `select ${columns} from api_key where id = $1` },
    [keyId],
  );
  return before ? { projectId: before.project_id, revokedAt: before.revoked_at, changed: false } : null;
}

/** What an operator may change about a key; null is no limit. */
export interface KeyLimits {
  name: string;
  models: string[] | null;
  rpm: number | null;
  budget: number | null;
  inFlightMax: number | null;
  expiresAt: Date | null;
}

/** Changes what is given and leaves the rest, under the key's lock; the key's money is not touched. */
export async function updateKeyLimits(
  database: Database,
  keyId: string,
  given: Partial<KeyLimits>,
): Promise<{ before: KeyLimits; after: KeyLimits } | 'unknown' | 'revoked'> {
  return database.orm.em.fork().transactional(async (em) => {
    const key = await em.findOne(ApiKey, { id: keyId }, { lockMode: LockMode.PESSIMISTIC_WRITE });
    if (!key) return 'unknown';
    if (key.revokedAt) return 'revoked';
    const limits = (): KeyLimits => ({
      name: key.name,
      models: key.models ?? null,
      rpm: key.rpm ?? null,
      budget: key.budget ?? null,
      inFlightMax: key.inFlightMax ?? null,
      expiresAt: key.expiresAt ?? null,
    });
    const before = limits();
    em.assign(key, given);
    return { before, after: limits() };
  });
}

export interface NewKeySecret {
  id: string;
  digest: Buffer;
  pepperId: string;
  prefix: string;
  last4: string;
}

/** Adds one more secret to a key; those before it end after the overlap. Two rotations at once come one after the other. */
export async function addKeySecret(
  database: Database,
  { keyId, secret, overlapSeconds }: { keyId: string; secret: NewKeySecret; overlapSeconds: number },
): Promise<{ projectId: string; previousUntil: number } | 'unknown' | 'revoked'> {
  return database.transaction('begin', async (query) => {
    const [key] = await query<{ project_id: string; revoked: boolean; previous_until: number }>(
      {
        name: 'operator-lock-key',
        text: `select project_id, revoked_at is not null as revoked,
                 ${unix('clock_timestamp() + make_interval(secs => $2)')} as previous_until
               from api_key where id = $1 for no key update`,
      },
      [keyId, overlapSeconds],
    );
    if (!key) return 'unknown';
    if (key.revoked) return 'revoked';
    await query(
      {
        name: 'operator-end-secrets',
        text: `update api_key_secret set expires_at = least(expires_at, to_timestamp($2)) where key_id = $1`,
      },
      [keyId, key.previous_until],
    );
    await query(
      {
        name: 'operator-add-secret',
        text: `insert into api_key_secret (id, key_id, digest, pepper_id, prefix, last4) values ($1, $2, $3, $4, $5, $6)`,
      },
      [secret.id, keyId, secret.digest, secret.pepperId, secret.prefix, secret.last4],
    );
    return { projectId: key.project_id, previousUntil: key.previous_until };
  });
}

/** A project's callback secrets, sealed. */
export interface StoredSecret {
  sealed: string;
  /** While it signs too. */
  sealedPrevious: string | null;
  /** Unix seconds; null when no rotation overlaps. */
  previousUntil: number | null;
}

/** By the database's clock, as a callback's signatures are; null when there is no such project. */
export async function readProjectSecret(database: Database, projectId: string): Promise<StoredSecret | null> {
  const [row] = await database.query<StoredSecret & Record<string, unknown>>(
    {
      name: 'operator-project-secret',
      text: `select p.callback_secret as sealed, o.sealed as "sealedPrevious", o.until as "previousUntil"
             from project p left join lateral (
               select p.callback_secret_previous as sealed, ${unix('p.callback_secret_previous_until')} as until
               where p.callback_secret_previous is not null and p.callback_secret_previous_until > clock_timestamp()
             ) o on true
             where p.id = $1`,
    },
    [projectId],
  );
  return row ?? null;
}

/**
 * Puts a new callback secret in the place of the one that signs, which goes on beside it for `overlapSeconds`. Changes nothing
 * and answers false for an unknown project and, unless forced, while an earlier rotation overlaps.
 */
export async function replaceProjectSecret(
  database: Database,
  given: { projectId: string; sealed: string; overlapSeconds: number; force: boolean },
): Promise<boolean> {
  const rows = await database.query(
    {
      name: 'operator-replace-secret',
      text: `update project set callback_secret_previous = callback_secret, callback_secret = $2,
               callback_secret_previous_until = clock_timestamp() + make_interval(secs => $3)
             where id = $1 and ($4 or callback_secret_previous is null
               or coalesce(callback_secret_previous_until <= clock_timestamp(), true))
             returning id`,
    },
    [given.projectId, given.sealed, given.overlapSeconds, given.force],
  );
  return rows.length > 0;
}

/** Switches a project; false when it was so before, null when there is none. */
export async function switchProject(database: Database, projectId: string, enabled: boolean): Promise<boolean | null> {
  const [row] = await database.query<{ changed: boolean }>(
    {
      name: 'operator-switch-project',
      text: `with switched as (
               update project set status = $2 where id = $1 and status <> $2 returning 1
             ) select exists (select from switched) as changed from project where id = $1`,
    },
    [projectId, enabled ? 'active' : 'disabled'],
  );
  return row?.changed ?? null;
}

/** Why a channel, or one model of it, is not as it should be, by the database's clock. */
export interface ChannelReason {
  /**
   * `open` the breaker keeps it closed to calls · `half_open` its time is over and the next call decides · `resting` until the
   * provider, or our account there, has recovered · `alarm` an operator has to look; a success ends it.
   */
  kind: 'open' | 'half_open' | 'resting' | 'alarm';
  /** `*` for all models. */
  model: string;
  reason: string | null;
  since: number | null;
  until: number | null;
  /** In a row, since the last opening. */
  failures: number;
  /** Since the last success: each keeps it closed for longer. */
  opens: number;
}

export interface ChannelState {
  channel_id: string;
  name: string;
  adapter: string;
  base_url: string;
  groups: string[];
  priority: number;
  weight: number;
  enabled: boolean;
  reasons: ChannelReason[];
}

/** All channels in the order of the draw. The credential is not among the columns. */
export async function listChannelStates(database: Database): Promise<ChannelState[]> {
  return database.query<ChannelState & Record<string, unknown>>({
    name: 'operator-channels',
    text: `select c.id as channel_id, c.name, c.adapter, c.base_url, c.groups, c.priority, c.weight, c.enabled,
             coalesce((select jsonb_agg(jsonb_build_object(
                         'kind', r.kind, 'model', h.model_id, 'reason', r.reason, 'since', ${unix('r.since')},
                         'until', ${unix('r.until')}, 'failures', h.failures, 'opens', h.opens) order by h.model_id, r.kind)
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
  return database.orm.em.fork().transactional(async (em) => {
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
  const [switched] = await database.query<{ id: string; name: string }>(
    {
      name: 'operator-switch-channel',
      text: `update channel set enabled = $2, updated_at = clock_timestamp()
             where (id = $1 or name = $1) and enabled <> $2 returning id, name`,
    },
    [channel, enabled],
  );
  if (switched) return { channelId: switched.id, name: switched.name, changed: true };
  const [before] = await database.query<{ id: string; name: string }>(
    { name: 'operator-find-channel', text: 'select id, name from channel where id = $1 or name = $1' },
    [channel],
  );
  return before ? { channelId: before.id, name: before.name, changed: false } : null;
}

export interface AttemptDetail {
  n: number;
  channel: string;
  outcome: AttemptOutcome | 'canceled' | null;
  error_class: string | null;
  status: number | null;
  detail: string | null;
  code: string | null;
  operation: JsonObject | null;
  /** What the call cost us by the catalog, in millionths of a dollar; 0 for one that bought nothing. */
  cost_micro_usd: number;
  started_at: number;
  submitted_at: number | null;
  ended_at: number | null;
}

// As the monthly summary counts it (migration 0007): the row holds what the call would cost from its begin on.
const boughtCost = `case when outcome in ('ok', 'unknown') or (operation is not null and (outcome is null or outcome = 'canceled'))
                      then cost_micro_usd else 0 end::float8`;

/**
 * A task may be ended while a call runs, at its deadline or by an operator, and nobody need come back to end the row: an
 * accepted job was given up, of any other call we do not know. The row stays as it is, for an answer that still comes.
 */
const fromAttempts = `from (select a.*, coalesce(a.ended_at, t.completed_at) as over_at,
                         case when a.outcome is not null or t.completed_at is null then a.outcome
                              when a.operation is not null then 'canceled' else 'unknown' end as told
                       from attempt a left join task t on t.id = a.request_id) a
                      where request_id = $1 order by n limit 100`;

/** Every call made for one task, in order, with what the upstream said: for operators, never for clients. */
export async function listAttemptDetails(database: Database, taskId: string): Promise<AttemptDetail[]> {
  return database.query<AttemptDetail & Record<string, unknown>>(
    {
      name: 'operator-attempts',
      text: `select n, channel_name as channel, told as outcome, error_class, status, detail, code, operation,
               ${boughtCost} as cost_micro_usd, ${unix('started_at')} as started_at, ${unix('submitted_at')} as submitted_at,
               ${unix('over_at')} as ended_at ${fromAttempts}`,
    },
    [taskId],
  );
}

/** A call made for a task, as its client may see it: neither who was called nor what was said there. */
export interface AttemptFacts {
  id: string;
  n: number;
  outcome: AttemptOutcome | 'canceled' | null;
  errorClass: ErrorClass | null;
  status: number | null;
  startedAt: number;
  submittedAt: number | null;
  endedAt: number | null;
}

/** Every call made for one task, in order. */
export async function listAttemptFacts(database: Database, taskId: string): Promise<AttemptFacts[]> {
  return database.query<AttemptFacts & Record<string, unknown>>(
    {
      name: 'task-attempts',
      text: `select id, n, told as outcome, error_class as "errorClass", status, ${unix('started_at')} as "startedAt",
               ${unix('submitted_at')} as "submittedAt", ${unix('over_at')} as "endedAt" ${fromAttempts}`,
    },
    [taskId],
  );
}

/** What an operator found out about a task whose outcome upstream was not known. */
export interface TaskResolution {
  outcome: 'bought' | 'not_bought';
  /** The provider's, or a ticket's. */
  reference: string;
}

/** Closes the case of a task, once: what was written first stands and is answered. The task's own row is not touched. */
export async function insertResolution(
  database: Database,
  taskId: string,
  { outcome, reference }: TaskResolution,
): Promise<{ standing: TaskResolution; changed: boolean } | null> {
  const inserted = await database.query(
    {
      name: 'operator-resolve-task',
      text: `insert into task_resolution (task_id, outcome, reference) values ($1, $2, $3)
             on conflict (task_id) do nothing returning task_id`,
    },
    [taskId, outcome, reference],
  );
  const standing = await findResolution(database, taskId);
  return standing && { standing, changed: inserted.length > 0 };
}

/** How an operator has closed the case of this task; null while it is open. */
export async function findResolution(database: Database, taskId: string): Promise<TaskResolution | null> {
  const [row] = await database.query<TaskResolution & Record<string, unknown>>(
    { name: 'operator-resolution', text: 'select outcome, reference from task_resolution where task_id = $1' },
    [taskId],
  );
  return row ?? null;
}

export interface SealedValue {
  id: string;
  value: string;
}

const sealedColumns = {
  channel_credential: { table: 'channel', column: 'credential' },
  callback_secret: { table: 'project', column: 'callback_secret' },
  callback_secret_previous: { table: 'project', column: 'callback_secret_previous' },
} as const;
export type SealedPlace = keyof typeof sealedColumns;

/** The next sealed values of one place in the order of their rows' ids. */
export async function listSealed(
  database: Database,
  place: SealedPlace,
  { after, limit }: { after: string; limit: number },
): Promise<SealedValue[]> {
  const { table, column } = sealedColumns[place];
  return database.query<SealedValue & Record<string, unknown>>(
    {
      name: `operator-sealed-${place}`,
      text: `select id, ${column} as value from ${table} where id > $1 and ${column} is not null order by id limit $2`,
    },
    [after, limit],
  );
}

/** Replaces a sealed value that is still the one that was read; false when it was changed meanwhile. */
export async function replaceSealed(
  database: Database,
  place: SealedPlace,
  { id, from, to }: { id: string; from: string; to: string },
): Promise<boolean> {
  const { table, column } = sealedColumns[place];
  const rows = await database.query(
    {
      name: `operator-reseal-${place}`,
      text: `update ${table} set ${column} = $3 where id = $1 and ${column} = $2 returning id`,
    },
    [id, from, to],
  );
  return rows.length > 0;
}

export interface AuditRow {
  id: number;
  at: number;
  actor: string;
  action: string;
  subject: string;
  detail: JsonObject;
}

/** The newest changes first, of one subject or of all. */
export async function listAudit(database: Database, subject: string | null, limit: number): Promise<AuditRow[]> {
  return database.query<AuditRow & Record<string, unknown>>(
    {
      name: 'operator-audit',
      text: `select id, ${unix('at')} as at, actor, action, subject, detail from audit_entry
             where $1::text is null or subject = $1 order by id desc limit $2`,
    },
    [subject, limit],
  );
}
