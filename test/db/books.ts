import { randomBytes } from 'node:crypto';
import { addCredits } from '../../src/services/ledger/add-credits.ts';
import type { Database } from '../../src/db/database.ts';
import { Ledger, type NewTask, type TaskEnd } from '../../src/db/ledger/ledger.ts';
import { verifyLedger } from '../../src/db/ledger/verify-ledger.ts';
import { eventually } from '../support/eventually.ts';

/** The ids of a project with credits and of one of its keys. */
export interface Book {
  projectId: string;
  keyId: string;
}

export interface KeyLimits {
  budget?: number | null;
  budgetDaily?: number | null;
  budgetMonthly?: number | null;
  inFlightMax?: number | null;
}

export const newId = (prefix: string): string => `${prefix}_${randomBytes(8).toString('hex')}`;

/** Creates a project with a key. The credits are written as a top-up, so that the ledger is consistent. */
export async function openBook(
  db: Database,
  { credits = 0, ...limits }: KeyLimits & { credits?: number } = {},
): Promise<Book> {
  const projectId = newId('prj');
  await run(db, `insert into project (id, name, callback_secret) values ($1, 'test', 'sealed')`, [projectId]);
  await run(db, 'insert into credit_account (project_id) values ($1)', [projectId]);
  if (credits > 0) await addCredits({ db }, { projectId, amount: credits, reference: 'opening', actor: 'test' });
  return { projectId, keyId: await addKey(db, projectId, limits) };
}

/** Creates another key of a project and returns its id. */
export async function addKey(
  db: Database,
  projectId: string,
  { budget = null, budgetDaily = null, budgetMonthly = null, inFlightMax = null }: KeyLimits = {},
): Promise<string> {
  const keyId = newId('key');
  await run(
    db,
    `insert into api_key (id, project_id, budget, budget_daily, budget_monthly, in_flight_max)
     values ($1, $2, $3, $4, $5, $6)`,
    [keyId, projectId, budget, budgetDaily, budgetMonthly, inFlightMax],
  );
  return keyId;
}

/** The argument of `ledger.createTask` for a valid task. */
export function newTask(book: Book, credits: number, over: Partial<NewTask> = {}): NewTask {
  const taskId = newId('task');
  return {
    taskId,
    ...book,
    requestId: newId('req'),
    dialect: 'openai',
    type: 'image',
    modelId: 'model-a',
    input: { prompt: 'a red fox' },
    snapshot: { groups: ['default'], upstream: {} },
    credits,
    callbackUrl: null,
    metadata: null,
    maxCredits: null,
    deadlineSeconds: 600,
    idempotency: null,
    traceParent: null,
    ...over,
  };
}

export const idempotently = (key: string, fingerprint = 'same body'): Pick<NewTask, 'idempotency'> => ({
  idempotency: { route: '/api/v1/images/generations', key, fingerprint, keptSeconds: 3_600 },
});

/** Lets hours pass for the grants of a project. Those that end in one hour keep the order in which they were added. */
export async function passHours(db: Database, projectId: string, hours: number): Promise<void> {
  const earlier = (column: string): string => `${column} = ${column} - make_interval(hours => $2)`;
  const values = [projectId, hours];
  await rowsOf(db, `update credit_grant set ${earlier('ends_at')} where project_id = $1`, values);
  await rowsOf(db, `update credit_account set ${earlier('grant_due_at')} where project_id = $1`, values);
}

export const openLedger = (db: Database, { inFlightPerProjectMax = 1_000 } = {}): Ledger =>
  new Ledger(db, { membersMax: 64, inFlightPerProjectMax, patienceMs });

/** How long a call of a test waits for an answer: longer than its statement waits for a lock. */
export const patienceMs = 120_000;

/** Creates a task and reserves its credits. Throws if the task is not admitted. */
export async function admitted(ledger: Ledger, task: NewTask): Promise<NewTask> {
  const verdict = await ledger.createTask(task);
  const admission = await ledger.reserveTask(task.taskId, true);
  if (verdict.kind !== 'created' || !admission.admitted)
    throw new Error(`not admitted: ${JSON.stringify({ verdict, admission })}`);
  return task;
}

export const taskEnd = (taskId: string, status: TaskEnd['status']): TaskEnd => ({
  taskId,
  status,
  errorCode: status === 'failed' ? 'upstream_failed' : status === 'canceled' ? 'canceled' : null,
  outcomeUnknown: false,
  retentionSeconds: 3_600,
  deliveryId: newId('dlv'),
  eventId: newId('evt'),
});

/** Writes a successful attempt, without which a task cannot be charged. */
export async function attemptEndedOk(db: Database, taskId: string): Promise<void> {
  await run(
    db,
    `insert into attempt (id, request_id, n, channel_id, channel_name, fence, submit_deadline, outcome, ended_at, outputs)
     values ($1, $2, 1, 'chn_won', 'won', 'fence', clock_timestamp(), 'ok', clock_timestamp(), '[]'::jsonb)`,
    [newId('att'), taskId],
  );
}

export interface Account {
  balance: number;
  reserved: number;
  inFlight: number;
}

export async function accountOf(db: Database, projectId: string): Promise<Account> {
  const [row] = await rowsOf<Account>(
    db,
    'select balance, reserved, in_flight from credit_account where project_id = $1',
    [projectId],
  );
  if (!row) throw new Error('no account');
  return row;
}

/** The number of entries of each kind for a task, and of its holds: `{ hold: 1 }`, then `{ settle: 1 }`. */
export async function entriesOf(db: Database, taskId: string): Promise<Record<string, number>> {
  const rows = await rowsOf<{ kind: string; n: number }>(
    db,
    `select kind, count(*) as n from (
       select kind from ledger_entry where request_id = $1 union all select 'hold' from hold where id = $1) entries group by kind`,
    [taskId],
  );
  return Object.fromEntries(rows.map(({ kind, n }) => [kind, n]));
}

/** The broken invariants with examples. Empty if the ledger is consistent. */
export async function breachesIn(db: Database, graceSeconds = 60): Promise<string[]> {
  const { invariants } = await verifyLedger(db, graceSeconds);
  return Object.entries(invariants).flatMap(([name, { breaches, examples }]) =>
    breaches > 0 ? [`${name}: ${examples.join(', ')}`] : [],
  );
}

/** Runs a test's own SQL, which is not prepared. */
export async function rowsOf<Row extends object = Record<string, unknown>>(
  db: Database,
  text: string,
  values: unknown[] = [],
): Promise<Row[]> {
  return db.query<Row>('', text, values);
}

/** Moves all holds and entries back by whole days, as if they had passed since. */
export async function passDays(db: Database, days: number): Promise<void> {
  const before = await breachesIn(db);
  if (before.length > 0) throw new Error(before.join('; '));
  await db.transaction('begin', async (query) => {
    const earlier = (column: string): string => `${column} = ${column} - make_interval(days => $1)`;
    await query('', 'alter table ledger_entry disable trigger ledger_entry_append_only');
    await query('', `update ledger_entry set ${earlier('created_at')}, ${earlier('began_at')}`, [days]);
    await query('', 'alter table ledger_entry enable trigger ledger_entry_append_only');
    await query('', `update hold set ${earlier('created_at')}`, [days]);
    await query('', 'update api_key set used_on = used_on - $1::int', [days]);
    await query('', recount);
  });
}

/** Counts the periods of all keys anew, after a test has moved holds or entries in time. */
export const recount = `
  with moved as (
    select key_id, (created_at at time zone 'UTC')::date as began_on, amount as held, 0 as taken from hold
    union all
    select key_id, (began_at at time zone 'UTC')::date, 0, -credits from ledger_entry where kind in ('settle', 'adjust')
  ), counted as (
    select k.id, coalesce(sum(held) filter (where began_on >= used_on), 0) as day_held,
      coalesce(sum(taken) filter (where began_on >= used_on), 0) as day_taken,
      coalesce(sum(held) filter (where began_on >= date_trunc('month', used_on::timestamp)), 0) as month_held,
      coalesce(sum(taken) filter (where began_on >= date_trunc('month', used_on::timestamp)), 0) as month_taken
    from api_key k left join moved on key_id = k.id group by k.id)
  update api_key k set day_reserved = day_held, day_spent = day_taken, month_reserved = month_held, month_spent = month_taken
  from counted c where c.id = k.id`;

export async function run(db: Database, text: string, values: unknown[] = []): Promise<void> {
  await rowsOf(db, text, values);
}

/** The process ids of the statements that match the pattern and wait for a lock, as soon as there are `count` of them. */
export const waitForLocks = (db: Database, like: string, count = 1): Promise<number[]> =>
  eventually(async () => {
    const rows = await rowsOf<{ pid: number }>(
      db,
      `select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like $1`,
      [like],
    );
    return rows.length === count && rows.map(({ pid }) => pid);
  });
