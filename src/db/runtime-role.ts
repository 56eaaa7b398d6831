import pg from 'pg';
import type { Database } from './database.ts';

/**
 * What the runtime role may do with each table and view. Only the owner truncates, alters or refers to one, and no role rewrites the
 * ledger or the audit log. A new table needs a row here: until then no process can use it under that role.
 */
export const runtimePrivileges: Readonly<Record<string, string>> = {
  admin_operator: 'select, insert, update, delete',
  admin_request: 'select, insert, update, delete',
  // The sessions of a removed operator are deleted by their foreign key, in the name of the owner.
  admin_session: 'select, insert, delete',
  admin_token: 'select, insert, update',
  alarm: 'select, insert, update, delete',
  alarm_silence: 'select, insert, update, delete',
  api_detail: 'select, insert',
  applied_function: 'select',
  applied_migration: 'select',
  api_key: 'select, insert, update',
  api_key_secret: 'select, insert, update',
  attempt: 'select, insert, update, delete',
  audit_entry: 'select, insert',
  balance_alert: 'select, insert, update, delete',
  balance_event: 'select, insert, update, delete',
  channel: 'select, insert, update',
  channel_call: 'select, insert, update, delete',
  channel_credential: 'select, insert, update, delete',
  channel_health: 'select, insert, update, delete',
  channel_history: 'select, insert, update, delete',
  channel_mapping_state: 'select, insert, update, delete',
  channel_use: 'select, insert, update, delete',
  channel_witness: 'select, insert, update, delete',
  credit_account: 'select, insert, update',
  credit_grant: 'select, insert, update',
  deduction: 'select, insert',
  delivery: 'select, insert, update, delete',
  delivery_attempt: 'select, insert, update, delete',
  daily_summary: 'select, insert, delete',
  file: 'select, insert, update, delete',
  grant_interval: 'select, insert, update, delete',
  held_grant: 'select, insert, update, delete',
  hold: 'select, insert, update, delete',
  idempotency: 'select, insert, update, delete',
  import_item: 'select, insert, update',
  installation: 'select',
  job_run: 'select, insert, update, delete',
  // The rows below a checkpoint are deleted with it by their foreign keys, in the name of the owner.
  ledger_checkpoint: 'select, insert, delete',
  ledger_checkpoint_account: 'select, insert',
  ledger_checkpoint_key: 'select, insert',
  ledger_entry: 'select, insert',
  model: 'select, insert, update, delete',
  monthly_summary: 'select, insert, delete',
  oidc_sign_in: 'select, insert, delete',
  plan: 'select, insert, update, delete',
  playground_key: 'select, insert, update',
  project: 'select, insert, update',
  rate_window: 'select, insert, update',
  reservation: 'select',
  restore_mark: 'select, insert, update',
  retention_floor: 'select',
  schema_function: 'select',
  schema_migration: 'select',
  summary_day: 'select, insert, update',
  summary_month: 'select, insert, update',
  task: 'select, insert, update, delete',
  task_metadata: 'select, insert, delete',
  task_resolution: 'select, insert',
  traffic: 'select, insert, update, delete',
  traffic_mark: 'select, update',
  traffic_unknown_cost: 'select, insert, update, delete',
  usage_half_hour: 'select, insert, update, delete',
  usage_mark: 'select, update',
  usage_slot: 'select, insert, update, delete',
};

/**
 * The role of API servers, workers and operators, or null if it is the owner. PostgreSQL is asked, because the name may come from a
 * pooler or the environment, and because a wrong password must stop a release before its processes start. Throws if the two
 * connections lead to different databases.
 */
export async function findRuntimeRole(connections: { owner: Database; runtime: Database }): Promise<string | null> {
  const [owner, runtime] = await Promise.all([whoIs(connections.owner), whoIs(connections.runtime)]);
  if (owner?.name !== runtime?.name)
    throw new Error(
      `DATABASE_URL leads to the database ${runtime?.name}, MIGRATE_DATABASE_URL to ${owner?.name}. It must be the same.`,
    );
  return runtime && runtime.role !== owner?.role ? runtime.role : null;
}

const whoIs = (database: Database) =>
  database.first<{ role: string; name: string }>(
    'who-is',
    'select current_user::text as role, current_database()::text as name',
    [],
  );

type Run = (text: string, values?: string[]) => Promise<{ name: string }[]>;

/**
 * Gives `role` the privileges of the table above and takes every other one from it, and from everybody, on the tables, sequences and
 * functions in `public` that the current role may grant. Partitions need none: PostgreSQL checks only the table that a statement names.
 * Repeated, it changes nothing. Throws if the role could alter the tables after all.
 */
export async function grantToRuntimeRole(run: Run, role: string): Promise<void> {
  const to = pg.escapeIdentifier(role);
  const statements = [`revoke create on schema public from public, ${to}`, `grant usage on schema public to ${to}`];
  const own = async (query: string) => (await run(query)).map(({ name }) => name);

  const tables = await own(ownRelations('r', 'p', 'v'));
  if (tables.length > 0) statements.push(`revoke all on table ${tables.join(', ')} from public, ${to}`);
  for (const table of tables) {
    const privileges = runtimePrivileges[table];
    if (privileges) statements.push(`grant ${privileges} on table ${table} to ${to}`);
  }
  // None is granted: PostgreSQL checks no privilege when an identity column takes its next value.
  const sequences = await own(ownRelations('S'));
  if (sequences.length > 0) statements.push(`revoke all on sequence ${sequences.join(', ')} from public, ${to}`);
  const functions = await own(ownFunctions);
  if (functions.length > 0) {
    statements.push(`revoke all on function ${functions.join(', ')} from public, ${to}`);
    statements.push(`grant execute on function ${functions.join(', ')} to ${to}`);
  }
  await run(statements.join(';\n'));

  const [excess] = await run(excessOf, [role]);
  if (excess)
    throw new Error(
      `The role ${role} of DATABASE_URL ${excess.name}, so it could change the tables. Set the roles up as ` +
        'deploy/postgres-roles.sql does, or leave MIGRATE_DATABASE_URL empty.',
    );
}

/** Objects of an extension keep what the extension gave them. */
const ofNoExtension = (oid: string): string =>
  `not exists (select from pg_depend where objid = ${oid} and deptype = 'e')`;

const ownRelations = (...kinds: string[]): string => `
  select quote_ident(c.relname) as name from pg_class c
  where c.relnamespace = 'public'::regnamespace and pg_has_role(c.relowner, 'usage') and ${ofNoExtension('c.oid')}
    and c.relkind in (${kinds.map((kind) => `'${kind}'`).join(', ')}) order by 1`;

const ownFunctions = `
  select p.oid::regprocedure::text as name from pg_proc p
  where p.pronamespace = 'public'::regnamespace and pg_has_role(p.proowner, 'usage') and ${ofNoExtension('p.oid')}
    and p.prokind = 'f' order by 1`;

/** Membership counts as ownership, and a superuser is a member of every role. */
const excessOf = `
  select name from (
    select case
      when rolsuper then 'is a superuser'
      when rolcreaterole then 'may create roles'
      when pg_has_role(r.oid, current_user, 'member') then 'is a member of ' || current_user
      when has_schema_privilege(r.oid, 'public', 'create') then 'may create tables'
      else (select 'owns ' || c.relname from pg_class c
            where c.relnamespace = 'public'::regnamespace and pg_has_role(r.oid, c.relowner, 'member') limit 1)
    end as name
    from pg_roles r where rolname = ?) excess
  where name is not null`;
