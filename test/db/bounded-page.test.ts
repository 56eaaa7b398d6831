import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CLIENT_PAGE_BYTES_MAX, OPERATOR_PAGE_BYTES_MAX } from '../../src/db/bounded-page.ts';
import type { Database } from '../../src/db/database.ts';
import { listAllScheduledJobRuns } from '../../src/db/scheduled-jobs/scheduled-job-runs.ts';
import { listKeys } from '../../src/db/projects/keys.ts';
import { listAudit } from '../../src/db/operators/list-audit.ts';
import { listAllDeliveries, listTaskDeliveries } from '../../src/db/callbacks/list-deliveries.ts';
import { listLedger } from '../../src/db/ledger/list-ledger.ts';
import { listTaskRows } from '../../src/db/tasks/list-task-rows.ts';
import { listProjects } from '../../src/db/projects/projects.ts';
import type { Page, PageRequest } from '../../src/domain/page.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { openBook, rowsOf, run, type Book } from './books.ts';

const count = 40;

let scratch: TestDatabase;
let db: Database;
let book: Book;
beforeAll(async () => {
  scratch = await createTestDatabase();
  db = await scratch.open({ poolMax: 1 });
  book = await openBook(db);
  const values = [book.projectId, book.keyId];
  await run(db, `set session_replication_role = replica`);
  // Rows of very different sizes, whose texts compress to a hundredth.
  const size = (bytes: number): string =>
    `case when n % 7 = 0 then ${bytes} when n % 3 = 0 then ${bytes / 5} else 50 end`;
  const each = `from generate_series(1, ${count}) n cross join lateral (select clock_timestamp() - n * interval '1 second' as at) given`;
  await run(
    db,
    `insert into audit_entry (at, actor, action, subject, before, after)
     select at, 'test', 'test.changed', 'test', '{}', jsonb_build_object('text', repeat('x', ${size(600_000)})) ${each}`,
  );
  await run(
    db,
    `insert into ledger_entry (project_id, kind, credits, balance_after, reference, created_at)
     select $1, 'topup', 1, n, n || repeat('x', ${size(80_000)}), at ${each}`,
    [book.projectId],
  );
  await run(
    db,
    `insert into task (id, project_id, key_id, request_id, type, model_id, status, admission, input, output, snapshot, credits_quoted, metadata,
                       created_at, completed_at, deadline_at)
     select 'task_b' || n, $1, $2, 'req_t', 'image', 'model-a', 'succeeded', 'reserved', '{}',
       jsonb_build_array(repeat('x', ${size(600_000)})), '{}', 1, '{}', at, at, at ${each}`,
    values,
  );
  await run(
    db,
    `insert into delivery (id, event_id, project_id, task_id, state, attempts, created_at, ended_at)
     select 'dlv_b' || n, 'evt_' || n, $1, 'task_b1', 'exhausted', 1, at, at ${each}`,
    [book.projectId],
  );
  await run(
    db,
    `insert into delivery_attempt (delivery_id, n, ended_at, error_class)
     select 'dlv_b' || n, 1, at, repeat('x', ${size(600_000)}) ${each}`,
  );
  await run(
    db,
    `insert into api_key (id, project_id, name, metadata, created_at)
     select 'key_b' || n, $1, 'key', jsonb_build_object('text', repeat('x', ${size(600_000)})), at ${each}`,
    [book.projectId],
  );
  await run(
    db,
    `insert into project (id, name, callback_secret, created_at)
     select 'prj_b' || n, repeat('x', ${size(600_000)}), '', at ${each}`,
  );
  await run(db, `insert into credit_account (project_id, balance, reserved) select 'prj_b' || n, 0, 0 ${each}`);
  await run(
    db,
    `insert into job_run (id, name, trigger, state, requested_at, ended_at, lease_until, summary)
     select 'run_b' || n, 'scheduled-maintenance', 'schedule', 'succeeded', at, at, at, jsonb_build_object('text', repeat('x', ${size(600_000)})) ${each}`,
  );
  await run(db, `set session_replication_role = origin`);
});
afterAll(() => scratch.drop());

type List = (database: Database, page: PageRequest) => Promise<Page<object>>;

const lists: [name: string, bytesMax: number, total: string, list: List][] = [
  ['audit entries', OPERATOR_PAGE_BYTES_MAX, 'audit_entry', (on, page) => listAudit(on, {}, page)],
  [
    'ledger entries',
    CLIENT_PAGE_BYTES_MAX,
    'ledger_entry',
    (on, page) => listLedger(on, { projectId: book.projectId }, page),
  ],
  ['the callbacks of a task', CLIENT_PAGE_BYTES_MAX, 'delivery', (on, page) => listTaskDeliveries(on, 'task_b1', page)],
  ['all callbacks', OPERATOR_PAGE_BYTES_MAX, 'delivery', (on, page) => listAllDeliveries(on, {}, page)],
  ['tasks of operators', OPERATOR_PAGE_BYTES_MAX, 'task', (on, page) => listTaskRows(on, {}, page)],
  ['keys', OPERATOR_PAGE_BYTES_MAX, 'api_key', (on, page) => listKeys(on, {}, page)],
  ['projects', OPERATOR_PAGE_BYTES_MAX, 'project', (on, page) => listProjects(on, {}, { ...page, sort: 'oldest' })],
  ['runs of scheduled jobs', OPERATOR_PAGE_BYTES_MAX, 'job_run', (on, page) => listAllScheduledJobRuns(on, {}, page)],
];

describe('a list of large rows', () => {
  it.each(lists)(
    'has pages with a bounded size or of one row, and each row once: %s',
    async (_name, bytesMax, table, list) => {
      const rows: object[] = [];
      const pages: Page<object>[] = [];
      for (let after: string | null = null; pages.length === 0 || after !== null;) {
        const page = await list(db, { limit: 30, after });
        pages.push(page);
        rows.push(...page.items);
        after = page.next;
      }
      const sizes = pages.map(({ items }) => ({ rows: items.length, bytes: JSON.stringify(items).length }));
      expect(sizes.filter(({ rows, bytes }) => rows === 0 || (rows > 1 && bytes > bytesMax))).toEqual([]);
      expect(sizes.length).toBeGreaterThan(2);
      const [total] = await rowsOf<{ count: number }>(db, `select count(*)::int as count from ${table}`);
      expect(rows).toHaveLength(total?.count ?? NaN);
      expect(new Set(rows.map((row) => JSON.stringify(row))).size).toBe(rows.length);
      expect(rows.filter((row) => 'pageRow' in row || 'pageBytes' in row || 'pageFound' in row)).toEqual([]);
    },
  );
});
