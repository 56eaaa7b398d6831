import { readdirSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import pg from 'pg';
import { Webhook } from 'standardwebhooks';
import { z } from 'zod';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Database } from '../../src/db/database.ts';
import { readCreditValue } from '../../src/db/ledger/credit-value.ts';
import { readCountedFrom } from '../../src/db/ledger/spend.ts';
import { assertSchemaVersion, migrate } from '../../src/db/migrate.ts';
import { mediaRoutes } from '../support/api-client.ts';
import { awayFromMidnight } from '../support/away-from-midnight.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { dumpSchema } from '../support/dump-schema.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, type Gateway } from '../support/gateway.ts';
import { compileCache, nodeBinary, projectFolder } from '../support/program.ts';
import { quickSettings } from '../support/gateway-settings.ts';
import { testConfig } from '../support/test-config.ts';
import { summarizeSpend } from '../../src/services/ledger/summarize-spend.ts';
import { breachesIn, rowsOf, run } from './books.ts';
import { describeStatement } from './statements/describe-statement.ts';
import { openChatLedger, settledEnd } from './chat-books.ts';
import { startDumpedProvider, type DumpedProvider } from './dumped-provider.ts';
import type { DumpedReplay, DumpedSecrets } from './dumps/dumped-secrets.ts';

const dumps = new URL('./dumps/', import.meta.url);
/** The dump of the newest release. `npm run schema:dump -- --release` writes it. */
const lastDump = readdirSync(dumps)
  .filter((file) => /^\d+\.\d+\.\d+\.sql$/.test(file))
  .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
  .at(-1);
const secrets = JSON.parse(
  readFileSync(new URL((lastDump ?? '').replace(/sql$/, 'json'), dumps), 'utf8'),
) as DumpedSecrets;
/** Of two tasks that had ended, and of two that run. */
const pendingCallbacks = 4;
const century = 100 * 365 * 86_400;

await awayFromMidnight();

let scratch: TestDatabase;
let database: Database;
let before: Record<string, unknown[]>;
/** Every statement of the release that the database accepts before its upgrade: a dump has the columns of a table in another order. */
let accepted: string[];

beforeAll(async () => {
  scratch = await createTestDatabase({ migrated: false });
  database = await scratch.open();
  await run(database, readFileSync(new URL(lastDump ?? '', dumps), 'utf8'));
  before = await rowsOfEveryTable(database);
  const statements = await statementsOfRelease();
  const refused = await refusedOf(statements);
  accepted = statements.filter((text) => !refused.has(text));
  await migrate(database);
});
afterAll(() => scratch.drop());

/** What the release sends: its texts, and a call of each of its SQL functions. */
async function statementsOfRelease(): Promise<string[]> {
  const Sent = z.object({ texts: z.array(z.string()), functions: z.array(z.string()) });
  const file = new URL((lastDump ?? '').replace(/sql$/, 'statements.json.gz'), dumps);
  const { texts, functions } = Sent.parse(JSON.parse(gunzipSync(readFileSync(file)).toString()));
  const calls = await rowsOf<{ call: string }>(
    database,
    `select format('select * from %s(%s)', proname, (select string_agg('$' || n, ', ') from generate_series(1, pronargs) n)) as call
     from pg_proc where pronamespace = 'public'::regnamespace and proname = any ($1)`,
    [functions],
  );
  return [...texts, ...calls.map(({ call }) => call)];
}

/** Those of the statements that the database refuses to prepare, with the reason. */
async function refusedOf(texts: readonly string[]): Promise<Map<string, string>> {
  const refused = new Map<string, string>();
  const client = new pg.Client({ connectionString: scratch.url });
  await client.connect();
  try {
    for (const text of texts)
      await describeStatement(client, text).catch((error: unknown) => refused.set(text, String(error)));
  } finally {
    await client.end();
  }
  return refused;
}

describe(`an upgrade from the dump ${lastDump}`, () => {
  it('starts from rows in every table', () => {
    expect(Object.entries(before).filter(([, rows]) => rows.length === 0)).toEqual([]);
  });

  it('ends with the schema of a new database', async () => {
    await expect(assertSchemaVersion(database)).resolves.toBeUndefined();
    expect(await dumpSchema(database)).toBe(readFileSync(new URL('schema.sql', dumps), 'utf8'));
  });

  it('keeps what a credit is worth, a cent, unless the setting says otherwise; in a new database it is a millionth of a dollar', async () => {
    expect(await readCreditValue(database)).toBe(10_000);
    await migrate(database);
    expect(await readCreditValue(database)).toBe(10_000);
    const fresh = await createTestDatabase({ migrated: false });
    try {
      const own = await fresh.open();
      await migrate(own);
      expect(await readCreditValue(own)).toBe(1);
      await migrate(own, { creditValue: 250 });
      await migrate(own);
      expect(await readCreditValue(own)).toBe(250);
    } finally {
      await fresh.drop();
    }
  });

  it('says since when calls of unknown cost are counted, which no range of a new installation begins before', async () => {
    const day = 86_400;
    const countedFrom = await readCountedFrom(database);
    expect(countedFrom).toBeGreaterThan(Date.now() / 1_000 - day);
    expect(Number(countedFrom) % day).toBe(0);
    const { KEY_PEPPERS, MASTER_KEYS } = quickSettings;
    const config = testConfig({ KEY_PEPPERS, MASTER_KEYS, DATABASE_URL: scratch.url });
    const range = { timeZone: 'UTC', groups: ['day'], measure: 'credits' } as const;
    const spent = (from: number) => summarizeSpend({ db: database, config }, { ...range, from, to: from + day });
    expect(await spent(Number(countedFrom) - 1)).toMatchObject({ unknownCostsFrom: countedFrom });
    expect(await spent(Number(countedFrom))).toMatchObject({ unknownCostsFrom: null });
  });

  it('keeps every row', async () => {
    const after = await rowsOfEveryTable(database);
    for (const [table, rows] of Object.entries(before).filter(([name]) => !name.startsWith('schema_')))
      expect([table, after[table]]).toEqual([
        table,
        rows.map((row): unknown => expect.objectContaining(changedBy(table, row as Record<string, unknown>))),
      ]);
  });

  /** What a migration changes on purpose: keys of the playground can no longer read. */
  function changedBy(table: string, row: Record<string, unknown>): Record<string, unknown> {
    const isPlayground = (before['playground_key'] ?? []).some(
      (one) => Reflect.get(Object(one), 'key_id') === row['id'],
    );
    if (table !== 'api_key' || !isPlayground || row['revoked_at'] !== null) return row;
    const { scopes: _, expires_at: __, budget_daily: ___, ...kept } = row;
    return { ...kept, scopes: ['chat', 'media'] };
  }

  it('keeps what the former release compares itself with when it starts', async () => {
    const nameOf = (row: unknown): unknown[] => [
      Reflect.get(Object(row), 'name'),
      Reflect.get(Object(row), 'checksum'),
    ];
    const names = (rows: unknown[] = []) => rows.map(nameOf);
    const after = await rowsOfEveryTable(database);
    for (const table of ['schema_migration', 'schema_function'])
      expect(names(after[table])).toEqual(names(before[table]));
  });

  it('accepts every statement of the former release, whose processes run beside this one until the contract', async () => {
    expect(accepted.length).toBeGreaterThan(300);
    expect([...(await refusedOf(accepted))]).toEqual([]);
  });

  it('keeps the ledger consistent', async () => {
    // Holds of the dump have expired since. The gateway below refunds them.
    expect(await breachesIn(database, century)).toEqual([]);
  });
});

describe('an upgrade while clients use the tables', () => {
  it('waits until a client that uses a table has finished, and builds an invalid index again', async () => {
    const own = await createTestDatabase({ migrated: false });
    try {
      const [owner, client] = [await own.open(), await own.open()];
      await run(owner, readFileSync(new URL(lastDump ?? '', dumps), 'utf8'));
      // What an interrupted run leaves.
      await run(owner, 'create index task_request_idx on task (request_id)');
      await run(owner, `update pg_index set indisvalid = false where indexrelid = 'task_request_idx'::regclass`);
      const upgrade = await client.transaction('begin', async (query) => {
        await query('', 'select count(*) from project');
        const migrating = migrate(owner);
        const waiting = `select count(*)::int as n from pg_locks where relation = 'project'::regclass and mode = 'AccessExclusiveLock' and not granted`;
        const isWaiting = async () => (await rowsOf<{ n: number }>(client, waiting))[0]?.n === 1;
        await eventually(isWaiting, { what: 'the lock of the migration' });
        return { migrating };
      });
      expect((await upgrade.migrating).length).toBeGreaterThan(10);
      const isValid = `select indisvalid as valid from pg_index where indexrelid = 'task_request_idx'::regclass`;
      expect(await rowsOf(owner, isValid)).toEqual([{ valid: true }]);
    } finally {
      await own.drop();
    }
  });
});

describe('the program that migrates', () => {
  const migrateWith = async (url: string, ...args: string[]) => {
    const key = `k1:${Buffer.alloc(32, 7).toString('base64')}`;
    const child = spawn(nodeBinary, [join(projectFolder, 'src/main/migrate.ts'), ...args], {
      env: { ...compileCache(), DATABASE_URL: url, KEY_PEPPERS: key, MASTER_KEYS: key },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ended = once(child, 'close');
    const [stdout, stderr] = await Promise.all([textOf(child.stdout), textOf(child.stderr), ended]);
    return { code: child.exitCode, printed: stdout === '' ? null : (JSON.parse(stdout) as object), message: stderr };
  };
  const ofFormer = (db: Database) => rowsOf(db, 'select name from schema_migration order by id');

  it('announces the second step of an upgrade, takes it only when it is told to, and says what that means', async () => {
    const own = await createTestDatabase({ migrated: false });
    try {
      const owner = await own.open();
      await run(owner, readFileSync(new URL(lastDump ?? '', dumps), 'utf8'));
      await run(owner, 'create function only_the_former_release_calls(a int) returns int language sql as $$select 1$$');
      await run(
        owner,
        `insert into schema_function (name, checksum) values ('only_the_former_release_calls', 'its checksum')`,
      );
      const former = await ofFormer(owner);
      expect(await migrateWith(own.url, '--contrakt')).toEqual({
        code: 2,
        printed: null,
        message: 'migrate does not know --contrakt. It takes --contract or nothing.\n',
      });
      const announced = expect.stringMatching(/run the second step: npm run migrate -- --contract\n$/);
      const applied = expect.arrayContaining(['0002-playground-keys']);
      expect(await migrateWith(own.url)).toEqual({ code: 0, printed: { applied }, message: announced });
      expect(await migrateWith(own.url)).toEqual({ code: 0, printed: { applied: [] }, message: announced });
      expect(await ofFormer(owner)).toEqual(former);
      expect(await migrateWith(own.url, '--contract')).toEqual({
        code: 0,
        printed: { applied: [], contracted: ['only_the_former_release_calls'] },
        message: expect.stringMatching(/^The second step is done: .* The only way back is a restore\.\n$/),
      });
      expect(await ofFormer(owner)).toEqual(await rowsOf(owner, 'select name from applied_migration order by id'));
      await expect(assertSchemaVersion(owner)).resolves.toBeUndefined();
      expect(await dumpSchema(owner)).toBe(readFileSync(new URL('schema.sql', dumps), 'utf8'));
      expect(await migrateWith(own.url, '--contract')).toEqual({
        code: 0,
        printed: { applied: [], contracted: [] },
        message: expect.stringMatching(/^There was no second step to take/),
      });
      expect((await migrateWith(own.url)).message).toBe('');
    } finally {
      await own.drop();
    }
  });
});

describe('a gateway of this release over the upgraded database', () => {
  let provider: DumpedProvider;
  let gateway: Gateway;

  beforeAll(async () => {
    provider = await startDumpedProvider();
    // The release that wrote the dump ended a moment ago: its tasks still have time.
    await run(
      database,
      `update task set deadline_at = clock_timestamp() + interval '10 minutes' where completed_at is null`,
    );
    await run(database, `update hold set expires_at = deadline_at from task where task.id = hold.id`);
    await run(database, `update channel set base_url = $1 where name like 'dumped-%'`, [provider.url]);
    await run(database, `update delivery set url = $1 where state = 'pending'`, [`${provider.url}/hook`]);
    await run(database, `update task set callback_url = $1 where completed_at is null and callback_url is not null`, [
      `${provider.url}/hook`,
    ]);
    await scratch.shut();
    gateway = await startGateway({ scratch });
  });
  afterAll(async () => {
    await gateway?.stop();
    await provider?.close();
  });

  it('authenticates the keys and tokens that were valid, and no other', async () => {
    const { apiKey, rotatedApiKey, revokedApiKey, adminToken } = secrets;
    const statusOf = async (key: string, path: string) => (await gateway.get(key, path)).status;
    expect(await statusOf(apiKey, '/api/v1/key')).toBe(200);
    expect(await statusOf(rotatedApiKey, '/api/v1/key')).toBe(200);
    expect(await statusOf(revokedApiKey, '/api/v1/key')).toBe(401);
    expect(await statusOf(adminToken, '/api/admin/v1/projects')).toBe(200);
  });

  it('answers a repeated request as the earlier release did', async () => {
    const { task, chat } = secrets.replays;
    const repeat = ({ path, body, idempotencyKey }: DumpedReplay) =>
      gateway.create(secrets.apiKey, path, body, { headers: { 'idempotency-key': idempotencyKey } });
    expect(await repeat(task)).toMatchObject({ status: 202, taskId: task.taskId });
    expect(await repeat(chat)).toMatchObject({ status: 200, body: chat.answer });
  });

  it('ends every task that ran, each with the outcome of its provider job', async () => {
    const { submitting, open, ...others } = secrets.runningTasks;
    for (const taskId of Object.values(others))
      expect(await gateway.poll(secrets.apiKey, taskId)).toMatchObject({
        status: 'succeeded',
        error: null,
        credits: { charged: 4 },
      });
    // Its submit was sent by a process of the earlier release that has ended, and Replicate cannot be asked about it.
    const lost = await gateway.poll(secrets.apiKey, submitting);
    expect(lost).toMatchObject({
      status: 'failed',
      error: { code: 'upstream_outcome_unknown' },
      credits: { charged: 0 },
    });
    // Its client has no answer and sent no Idempotency-Key, so it never runs.
    const undecided = await fetch(`${gateway.baseUrl}/api/v1/tasks/${open}`, {
      headers: { authorization: `Bearer ${secrets.apiKey}` },
    });
    expect(undecided.status).toBe(404);
    expect(provider.submits()).toBe(1);
  });

  it('sends every pending callback, signed with the unsealed secret', async () => {
    await eventually(() => Promise.resolve(provider.callbacks().length >= pendingCallbacks), {
      what: 'the callbacks',
      secondsMax: 200,
    });
    const webhook = new Webhook(secrets.webhookSecret);
    for (const { headers, body } of provider.callbacks()) expect(() => webhook.verify(body, headers)).not.toThrow();
  });

  it('calls the provider with the unsealed credential', () => {
    expect(new Set(provider.authorizations())).toEqual(new Set([`Bearer ${secrets.channelCredential}`]));
  });

  it('settles the chat that ran, refunds the one whose hold had expired, and leaves a consistent ledger', async () => {
    const chats = () => rowsOf<{ id: string }>(gateway.database, `select id from hold where kind = 'chat'`);
    const [running] = await eventually(async () => (await chats()).length === 1 && (await chats()), {
      what: 'the refund of the expired hold',
    });
    if (!running) throw new Error('The chat that ran has no hold.');
    const end = settledEnd({ requestId: running.id, channelId: 'chn_a' }, 1);
    expect(await openChatLedger(gateway.database).end(end)).toMatchObject({ ended: true });
    expect(await gateway.verifyLedger()).toMatchObject({ ok: true });
  });

  it('serves new tasks', async () => {
    const taskId = await gateway.accept(secrets.apiKey, mediaRoutes.image, { model: 'aurora-image-1', prompt: 'new' });
    expect(await gateway.poll(secrets.apiKey, taskId)).toMatchObject({ status: 'succeeded' });
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
