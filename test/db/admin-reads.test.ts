import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { UnknownToOperator } from '../../src/services/operator-error.ts';
import { createProject } from '../../src/services/projects/create-project.ts';
import { testConfig } from '../support/test-config.ts';
import type { Database } from '../../src/db/database.ts';
import { buildDeps } from '../../src/main/build-deps.ts';
import type { OpenDeps, ActionDeps } from '../../src/admin/action-deps.ts';
import { adminReads, type AdminRead } from '../support/admin-reads.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { createTestHome, type TestHome } from '../support/home.ts';
import { writeOperatorHistory } from '../support/operator-history.ts';
import { readsOf, stopAutovacuum, type Reads } from './block-reads.ts';

/**
 * No read of the admin API may cost more because much has happened. Every action that reads is called on 50,000 ended requests, 5,000 of them
 * tasks, by the table of actions: a new action is among them. `npm run bench -- admin` does the same on two hundred times as many and takes the time.
 */
const size = {
  entries: 50_000,
  entriesPerTask: 10,
  projects: 10,
  keys: 5,
  days: 30,
  audits: 20_000,
  scheduledJobRuns: 20_000,
};

/**
 * The most blocks of tables and indexes that a read may take, of ten rows for a list. A row costs up to ten: it is found by an index, and has
 * callbacks and tries. Up to release 16 PostgreSQL begins at the root of an index for each value of a list. A scan of one of the tables, or of an
 * index, takes more than 1,000.
 */
const blocksMax = 600;
/** What is added up does not grow with the history. Usage of 90 days reads the sums of 4,300 half hours, each by channel for
 * operators. */
const sums = [
  'traffic',
  'traffic_mark',
  'traffic_unknown_cost',
  'usage_half_hour',
  'usage_mark',
  'usage_slot',
  'summary_day',
  'daily_summary',
  'summary_month',
  'monthly_summary',
];
const sumBlocksMax = 16_000;

let scratch: TestDatabase;
let home: TestHome;
let reads: (work: () => Promise<unknown>) => Promise<Reads>;
let open: OpenDeps;
let sealedProject: string;
let close: () => Promise<void>;

beforeAll(async () => {
  scratch = await createTestDatabase();
  home = await createTestHome();
  const observer = await scratch.open({ poolMax: 1, statementTimeoutMs: 300_000 });
  await stopAutovacuum(observer);
  await writeOperatorHistory(scratch.url, size);
  // One connection, so that PostgreSQL's counters belong to the read that ran.
  const db = await scratch.open({ poolMax: 1 });
  const built = await buildDeps(testConfig({ ...home.settings, LOG_LEVEL: 'silent' }), 'test');
  reads = readsOf(observer, db);
  open = openOn({ ...built.deps, db });
  close = () => built.close();
  ({ projectId: sealedProject } = await createProject({ ...built.deps, db }, { name: 'sealed', actor: 'test' }));
});
afterAll(async () => {
  await close();
  await scratch.drop();
  await home.drop();
});

const openOn = (deps: Awaited<ReturnType<typeof buildDeps>>['deps'] & { db: Database }): OpenDeps => {
  const own = { ...deps, answerWithinSeconds: 1 };
  const listener = { listen: () => Promise.reject(new Error('not here')) };
  const opened: ActionDeps = {
    catalogSettings: { ...own, openDatabase: () => Promise.resolve(own.db) },
    database: own,
    secrets: own,
    upstreams: own,
    worker: own,
    importer: { ...own, env: {} },
    shadow: { send: () => Promise.reject(new Error('not here')) },
    listener,
  };
  return (need) => Promise.resolve(opened[need]);
};

async function run({ name, action, values }: AdminRead): Promise<void> {
  const prepared = action.prepare({ ...values, ...('limit' in action.input && { limit: '10' }) });
  if (!prepared.ok) throw new Error(`${name} is refused: ${JSON.stringify(prepared.issues)}`);
  await prepared.run(open, 'test').catch((error: unknown) => {
    if (!(error instanceof UnknownToOperator)) throw error;
  });
}

it('a list of too many rows is not sorted by a column that is read for each of them until it is narrowed', async () => {
  const sorted = (input: Record<string, string>): Promise<unknown> => {
    const read = adminReads(sealedProject).find(({ name }) => name === 'requests list');
    if (!read) throw new Error('there is no list of requests');
    return run({ ...read, values: input });
  };
  for (const sort of ['-credits', 'took_ms', 'project_name', 'model', 'type'])
    await expect(sorted({ sort })).resolves.toBeUndefined();
  const sort = '-unknown_costs';
  await expect(sorted({ sort })).rejects.toMatchObject({ code: 'invalid_value', param: 'sort' });
  await expect(sorted({ sort, createdAfter: '7d' })).resolves.toBeUndefined();
});

it('every read of the admin API reads a bounded number of blocks, whatever its filters leave out', async () => {
  const excessive: [string, Reads][] = [];
  for (const read of adminReads(sealedProject)) {
    // Requests that run are in another table than those that have ended, so it sorts them as by a column.
    if (/^(?:chats|requests) list, sort=oldest$/.test(read.name)) continue;
    // So often that PostgreSQL chooses its generic plan.
    for (let call = 0; call < 6; call++) await run(read);
    const found = await reads(() => run(read));
    const inSums = sums.reduce((blocks, table) => blocks + (found.tables[table] ?? 0), 0);
    if (found.blocks - inSums > blocksMax || inSums > sumBlocksMax || found.scans.length > 0)
      excessive.push([read.name, found]);
  }
  expect(excessive).toEqual([]);
});
