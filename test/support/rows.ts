import type { Database } from '../../src/db/database.ts';

/** The number of rows in the tables that a request may write. */
export async function countRows(database: Database): Promise<RowCounts> {
  const [row] = await database.query<RowCounts>(
    'test-count-rows',
    `select ${countedTables.map((table) => `(select count(*)::float8 from ${table}) as ${table}`).join(', ')}`,
  );
  if (!row) throw new Error('The count returned no row');
  return row;
}

type RowCounts = Record<'task' | 'hold' | 'idempotency' | 'file' | 'ledgerEntry' | 'attempt', number>;
const countedTables = ['task', 'hold', 'idempotency', 'file', 'ledger_entry', 'attempt'] as const;

export async function accountOf(database: Database, projectId: string): Promise<{ balance: number; reserved: number }> {
  const [row] = await database.query<{ balance: number; reserved: number }>(
    'test-account',
    'select balance, reserved from credit_account where project_id = $1',
    [projectId],
  );
  if (!row) throw new Error(`The project ${projectId} has no account`);
  return row;
}

export interface AttemptFacts {
  n: number;
  channelName: string;
  outcome: string | null;
  code: string | null;
  errorClass: string | null;
}

/** The calls made for a task or a chat. The only call of a chat that succeeded at the first try stands in its ledger entry. */
export const attemptsOf = (database: Database, taskId: string): Promise<AttemptFacts[]> =>
  database.query<AttemptFacts>(
    'test-attempts',
    `select n, channel_name, outcome, code, error_class from attempt where request_id = $1
     union all
     select 1, c.name, 'ok', null, null from ledger_entry e join channel c on c.id = e.channel_id
     where e.request_id = $1 and e.cost_micro_usd is not null order by n`,
    [taskId],
  );

interface Audited {
  action: string;
  before: object | null;
  after: object | null;
  detail: object;
}

/** The newest entry of the audit log about this subject, if it has one. */
export const lastAuditOf = (database: Database, subject: unknown): Promise<Audited[]> =>
  database.query<Audited>(
    'test-last-audit',
    'select action, before, after, detail from audit_entry where subject = $1 order by id desc limit 1',
    [subject],
  );

/** The number of ledger entries of each kind for this task, and of its holds. */
export async function entriesOf(database: Database, taskId: string): Promise<Record<string, number>> {
  const rows = await database.query<{ kind: string; entries: number }>(
    'test-entries',
    `select kind, count(*)::float8 as entries from (
       select kind from ledger_entry where request_id = $1 union all select 'hold' from hold where id = $1) entries group by kind`,
    [taskId],
  );
  return Object.fromEntries(rows.map(({ kind, entries }) => [kind, entries]));
}
