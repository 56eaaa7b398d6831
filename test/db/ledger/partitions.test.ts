import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import type { Database } from '../../../src/db/database.ts';
import { writeCheckpoint } from '../../../src/db/ledger/checkpoints.ts';
import { assertSchemaVersion, migrate } from '../../../src/db/migrate.ts';
import { runAhead } from '../../../src/db/run-ahead.ts';
import { addCredits } from '../../../src/services/ledger/add-credits.ts';
import { adjustCredits } from '../../../src/services/ledger/adjust-credits.ts';
import { createTestDatabase, runtimeRole, type TestDatabase } from '../../support/database.ts';
import { projectFolder } from '../../support/program.ts';
import { breachesIn, openBook, rowsOf, run, type Book } from '../books.ts';
import { anAdmission, openChatLedger, settledEnd } from '../chat-books.ts';

const script = readFileSync(join(projectFolder, 'deploy/postgres/partition-ledger.sql'), 'utf8');
/** Few, so that the entries of a test fill several. */
const entriesOfPartition = 10;

let scratch: TestDatabase;
let db: Database;
let client: pg.Client;
let book: Book;
let before: unknown[];
/** A chat that was charged, and for which one credit was given back, before the change. */
let early: string;

const entries = () => rowsOf(db, 'select * from ledger_entry order by id');

/** Charges two credits for a chat, by the statements of an API server. */
async function charge(via: Database = db): Promise<string> {
  const ledger = openChatLedger(via);
  const chat = anAdmission(book, { credits: 3 });
  expect(await ledger.admit(chat)).toMatchObject({ verdict: { kind: 'admitted' } });
  await ledger.end(settledEnd(chat, 2));
  return chat.requestId;
}
const giveBack = (requestId: string) => adjustCredits({ db }, { requestId, amount: 1, reason: 'late', actor: 'test' });
const pay = (reference: string) =>
  addCredits({ db }, { projectId: book.projectId, amount: 100, reference, actor: 'test' });

beforeAll(async () => {
  scratch = await createTestDatabase();
  db = await scratch.open();
  client = new pg.Client({ connectionString: scratch.url });
  await client.connect();
  book = await openBook(db, { credits: 1_000 });
  await pay('early payment');
  early = await charge();
  await giveBack(early);
  before = await entries();
  await client.query(`set tollgate.partition_entries = ${entriesOfPartition}`);
  await client.query(script);
});
afterAll(async () => {
  await client?.end();
  await scratch?.drop();
});

describe('a ledger that deploy/postgres/partition-ledger.sql has partitioned', () => {
  it('keeps every entry, and goes on with the next id in connections that were open before', async () => {
    expect(await entries()).toEqual(before);
    for (let n = 0; n < 4 * entriesOfPartition; n++) await charge();
    const filled = await rowsOf(db, 'select distinct tableoid::regclass::text as part from ledger_entry order by 1');
    expect(filled.length).toBeGreaterThan(3);
    expect(await breachesIn(db)).toEqual([]);
  });

  it('refuses what happens once, on both sides of each border', async () => {
    const late = await charge();
    await giveBack(late);
    await pay('late payment');
    expect(await pay('early payment')).toMatchObject({ added: false });
    expect(await pay('late payment')).toMatchObject({ added: false });
    expect(await giveBack(early)).toMatchObject({ returned: 0 });
    const columns = 'project_id, kind, credits, balance_after, key_id, request_id, model_id, held, reason, reference';
    const copied = await rowsOf<{ id: string }>(
      db,
      `select id from ledger_entry where request_id in ($1, $2) or reference in ('early payment', 'late payment')`,
      [early, late],
    );
    expect(copied).toHaveLength(6);
    for (const { id } of copied)
      await expect(
        run(db, `insert into ledger_entry (${columns}) select ${columns} from ledger_entry where id = $1`, [id]),
      ).rejects.toMatchObject({ code: '23505' });
    expect(await breachesIn(db)).toEqual([]);
  });

  it('is added up as before', async () => {
    expect(await db.value<number>('fold_traffic', [0, 1_000])).toBeGreaterThan(0);
    expect(await db.value<number>('fold_usage', [0, 1_000])).toBeGreaterThan(0);
    expect(await writeCheckpoint(db, 0)).not.toBeNull();
    expect(await breachesIn(db)).toEqual([]);
  });

  it('lets the runtime role append and nobody rewrite or empty it, before and after the next migrate', async () => {
    const runtime = await scratch.open({ via: scratch.runtimeUrl });
    for (const again of [false, true]) {
      if (again) expect(await migrate(db, { runtimeRole })).toEqual([]);
      await charge(runtime);
      await expect(run(runtime, 'delete from ledger_entry')).rejects.toMatchObject({ code: '42501' });
      await expect(run(runtime, 'select from ledger_reference')).rejects.toMatchObject({ code: '42501' });
    }
    await expect(assertSchemaVersion(db)).resolves.toBeUndefined();
    const attempts = ['update ledger_entry set credits = 0', 'delete from ledger_entry', 'truncate ledger_entry'];
    for (const text of [
      ...attempts,
      'truncate ledger_entry_1',
      'truncate ledger_entry_2',
      'delete from ledger_entry_2',
    ])
      await expect(run(db, text)).rejects.toThrow(/ledger_entry/);
  });

  it('takes an index of a later release that was built before, on each partition', async () => {
    const text = 'create index if not exists later_idx on ledger_entry (model_id)';
    const { orm } = await db.orm();
    await expect(runAhead(orm, [text])).rejects.toThrow('concurrently');
    await run(db, text);
    await expect(runAhead(orm, [text])).resolves.toBeUndefined();
  });

  it('has a partition of its own for entries beyond the last partition', async () => {
    await client.query(`select setval(pg_get_serial_sequence('ledger_entry', 'id'), 1000000)`);
    const requestId = await charge();
    expect(
      await rowsOf(db, 'select tableoid::regclass::text as part from ledger_entry where request_id = $1', [requestId]),
    ).toEqual([{ part: 'ledger_entry_rest' }]);
    expect(await breachesIn(db)).toEqual([]);
  });
});
