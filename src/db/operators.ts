import { LockMode } from '@mikro-orm/core';
import type { JsonObject } from '../domain/json.ts';
import type { AttemptOutcome } from '../domain/upstream.ts';
import type { Database } from './database.ts';
import { ApiKey } from './entities/index.ts';

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

export interface ChannelRest {
  /** `*` for all models. */
  model: string;
  until: number;
  reason: string | null;
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
  /** What keeps it out of the draw just now, by the database's clock. */
  rests: ChannelRest[];
}

/** All channels in the order of the draw. The credential is not among the columns. */
export async function listChannelStates(database: Database): Promise<ChannelState[]> {
  return database.query<ChannelState & Record<string, unknown>>({
    name: 'operator-channels',
    text: `select c.id as channel_id, c.name, c.adapter, c.base_url, c.groups, c.priority, c.weight, c.enabled,
             coalesce((select jsonb_agg(jsonb_build_object('model', h.model_id, 'until', ${unix('h.closed_until')},
                                                           'reason', h.reason) order by h.model_id)
                       from channel_health h where h.channel_id = c.id and h.closed_until > clock_timestamp()), '[]') as rests
           from channel c order by c.priority, c.name`,
  });
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
  started_at: number;
  submitted_at: number | null;
  ended_at: number | null;
}

/** Every call made for one task, in order, with what the upstream said: for operators, never for clients. */
export async function listAttemptDetails(database: Database, taskId: string): Promise<AttemptDetail[]> {
  return database.query<AttemptDetail & Record<string, unknown>>(
    {
      name: 'operator-attempts',
      text: `select n, channel_name as channel, outcome, error_class, status, detail, code, operation,
               ${unix('started_at')} as started_at, ${unix('submitted_at')} as submitted_at, ${unix('ended_at')} as ended_at
             from attempt where request_id = $1 order by n limit 100`,
    },
    [taskId],
  );
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
