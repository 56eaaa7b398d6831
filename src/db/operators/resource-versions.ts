import type { Statements } from '../database.ts';

/** What operators change by forms and commands, so that two of them may change one at the same time. A model has the version of its entry. */
export type ResourceKind = 'channel' | 'project' | 'callback_secret' | 'key' | 'plan';

export interface Resource {
  kind: ResourceKind;
  /** As the path of a route names it. */
  id: string;
}

/** What an operator changes, as a digest: a request moves balances and counters and no version. */
const digestOf = (members: string): string =>
  `left(encode(sha256(convert_to(jsonb_build_array(${members})::text, 'UTF8')), 'hex'), 16) as version`;

/**
 * `lock` keeps every other change of the resource out until the transaction ends. It locks in the order of those changes: an account before
 * what it pays for.
 */
const statements: Readonly<Record<ResourceKind, { lock: string; version: string }>> = {
  channel: {
    lock: 'select id from channel where id = $1 or name = $1 for update',
    version: `select ${digestOf(`to_jsonb(c) - '{created_at,updated_at,pooled_at}'::text[], (
        select jsonb_agg(jsonb_build_array(k.id, k.credential is null, k.rpm, k.tpm, k.parallel) order by k.id) from channel_credential k
        where k.channel_id = c.id and (k.credential is not null or coalesce(k.rpm, k.tpm, k.parallel) is not null))`)}
      from channel c where c.id = $1 or c.name = $1`,
  },
  project: {
    lock: 'select lock_accounts(array[$1])',
    version: `select ${digestOf('p.name, p.note, p.status, p.plan_id, p.alert_at, p.alert_url, p.alert_mail, p.trace_content, a.overdraft')}
      from project p join credit_account a on a.project_id = p.id where p.id = $1`,
  },
  callback_secret: {
    lock: 'select id from project where id = $1 for update',
    version: `select ${digestOf('p.callback_secret, p.callback_secret_previous')} from project p where p.id = $1`,
  },
  key: {
    lock: `with account as materialized (select lock_accounts(array(select project_id from api_key where id = $1)))
      select k.id from api_key k cross join account where k.id = $1 for no key update of k`,
    version: `select ${digestOf(`k.name, k.metadata, k.scopes, k.ip_ranges, k.models, k.rpm, k.in_flight_max, k.budget, k.budget_daily,
        k.budget_monthly, extract(epoch from k.expires_at), extract(epoch from k.revoked_at), (
          select s.id from api_key_secret s where s.key_id = k.id order by s.created_at desc, s.id desc limit 1)`)} from api_key k where k.id = $1`,
  },
  plan: {
    lock: 'select id from plan where name = $1 for update',
    version: `select p.id || '.' || p.revision as version from plan p where p.name = $1 or p.id = $1 order by p.name <> $1 limit 1`,
  },
};

/** The version of a resource: another one whenever an operator has changed it. Null if there is no such resource. */
export async function readResourceVersion(database: Statements, { kind, id }: Resource): Promise<string | null> {
  const row = await database.first<{ version: string }>(`version-of-${kind}`, statements[kind].version, [id]);
  return row?.version ?? null;
}

/** The same in a transaction, until whose end no other transaction changes the resource. */
export async function lockResourceVersion(inside: Statements, resource: Resource): Promise<string | null> {
  await inside.query(`lock-version-of-${resource.kind}`, statements[resource.kind].lock, [resource.id]);
  return readResourceVersion(inside, resource);
}
