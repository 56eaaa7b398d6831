import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expireChats } from '../../src/db/chat-ledger.ts';
import type { Database } from '../../src/db/database.ts';
import { assertSchemaVersion, migrate } from '../../src/db/migrate.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { dumpSchema } from '../support/dump-schema.ts';
import { admitted, attemptEndedOk, breachesIn, entriesOf, newTask, openLedger, rowsOf, run, taskEnd } from './books.ts';
import { anAdmission, openChatLedger, settledEnd } from './chat-books.ts';

const dumps = new URL('./dumps/', import.meta.url);
/** The dump of the newest release. `npm run schema:dump -- --release` writes it. */
const lastDump = readdirSync(dumps)
  .filter((file) => /^\d+\.\d+\.\d+\.sql$/.test(file))
  .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
  .at(-1);
const century = 100 * 365 * 86_400;

let scratch: TestDatabase;
let database: Database;
let before: Record<string, unknown[]>;

beforeAll(async () => {
  scratch = await createTestDatabase({ migrated: false });
  database = await scratch.open();
  await run(database, readFileSync(new URL(lastDump ?? '', dumps), 'utf8'));
  before = await rowsOfEveryTable(database);
  await migrate(database);
});
afterAll(() => scratch.drop());

describe(`an upgrade from the dump ${lastDump}`, () => {
  it('starts from rows in every table', () => {
    expect(Object.entries(before).filter(([, rows]) => rows.length === 0)).toEqual([]);
  });

  it('ends with the schema of a new database', async () => {
    await expect(assertSchemaVersion(database)).resolves.toBeUndefined();
    expect(await dumpSchema(database)).toBe(readFileSync(new URL('schema.sql', dumps), 'utf8'));
  });

  it('keeps every row', async () => {
    const after = await rowsOfEveryTable(database);
    for (const [table, rows] of Object.entries(before).filter(([name]) => !name.startsWith('schema_')))
      expect([table, after[table]]).toEqual([
        table,
        rows.map((row): unknown => expect.objectContaining(row as Record<string, unknown>)),
      ]);
  });

  it('keeps the ledger consistent, and the running tasks and chats can end', async () => {
    // The hold of the running chat expired when the dump was written; the sweep below refunds it.
    expect(await breachesIn(database, century)).toEqual([]);

    const ledger = openLedger(database);
    expect(await expireChats(database, 100)).toBe(1);
    const running = await rowsOf<{ id: string }>(
      database,
      `select id from task where completed_at is null and admission = 'reserved'`,
    );
    expect(running).toHaveLength(2);
    for (const { id } of running) await ledger.finishTask(taskEnd(id, 'failed'));
    for (const { id } of running) expect(await entriesOf(database, id)).toEqual({ refund: 1 });

    expect(await breachesIn(database)).toEqual([]);
  });

  it('serves new tasks, chats and pending callbacks', async () => {
    const [key] = await rowsOf<{ projectId: string; keyId: string }>(
      database,
      `select project_id, id as key_id from api_key where budget is null`,
    );
    const [pending] = await rowsOf<{ id: string }>(database, `select id from delivery where state = 'pending'`);
    if (!key || !pending) throw new Error('The dump has no key or no pending delivery.');

    const task = await admitted(openLedger(database), newTask(key, 1));
    await attemptEndedOk(database, task.taskId);
    expect(await openLedger(database).finishTask(taskEnd(task.taskId, 'succeeded'))).toMatchObject({ finished: true });
    const chat = anAdmission(key, { rpm: 60 });
    expect(await openChatLedger(database).admit(chat)).toMatchObject({ verdict: { kind: 'admitted' } });
    expect(await openChatLedger(database).end(settledEnd(chat, 1))).toMatchObject({ ended: true });
    expect(await rowsOf(database, `select claimed from claim_delivery($1, 'token-2', 60)`, [pending.id])).toEqual([
      { claimed: true },
    ]);

    expect(await breachesIn(database)).toEqual([]);
  });
});

async function rowsOfEveryTable(db: Database): Promise<Record<string, unknown[]>> {
  const tables = await rowsOf<{ name: string }>(
    db,
    `select c.relname::text as name from pg_class c
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition`,
  );
  const rows: Record<string, unknown[]> = {};
  for (const { name } of tables)
    rows[name] = (await rowsOf<{ row: unknown }>(db, `select to_jsonb(t) as row from ${name} t order by t::text`)).map(
      ({ row }) => row,
    );
  return rows;
}
