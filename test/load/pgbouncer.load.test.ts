import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { inLanes } from '../../src/platform/in-lanes.ts';
import { meetPooler } from '../../src/db/pooler.ts';
import { mediaRoutes } from '../support/api-client.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startGateway, type Gateway, type TestProject } from '../support/gateway.ts';
import { findPgBouncer, startPgBouncer, type Bouncer } from '../support/pgbouncer.ts';

/** Few, so that clients share them. */
const serverConnections = '5';
const limits = `alter role current_user set statement_timeout = '15s'`;
/** From this version on PgBouncer follows prepared statements in transaction mode. */
const keepsStatements = findPgBouncer().version >= 1.21;

let scratch: TestDatabase;
beforeAll(async () => {
  scratch = await createTestDatabase();
});
afterAll(() => scratch?.drop());

/** Each mode that PgBouncer has, and what the start says about it. */
const modes: { settings: Record<string, string>; refusal: RegExp | null }[] = [
  { settings: { pool_mode: 'session', ignore_startup_parameters: 'options' }, refusal: null },
  { settings: { pool_mode: 'session' }, refusal: null },
  {
    settings: { pool_mode: 'statement' },
    refusal: /^DATABASE_URL leads to PgBouncer in statement mode, which refuses/,
  },
  {
    settings: { pool_mode: 'transaction', ...(keepsStatements && { max_prepared_statements: '0' }) },
    refusal: /^DATABASE_URL leads to PgBouncer in transaction mode, which loses prepared statements/,
  },
  ...(keepsStatements
    ? [
        { settings: { pool_mode: 'transaction', max_prepared_statements: '200' }, refusal: null },
        {
          settings: { pool_mode: 'transaction', max_prepared_statements: '200', ignore_startup_parameters: 'options' },
          refusal: null,
        },
      ]
    : []),
];

describe('the start of a process behind PgBouncer', () => {
  it.each(modes)('with $settings: $refusal', async ({ settings, refusal }) => {
    const bouncer = await startPgBouncer(scratch.url, { default_pool_size: serverConnections, ...settings });
    try {
      const met = meetPooler(bouncer.through(scratch.url)).then(
        () => null,
        (error: Error) => error.message,
      );
      if (refusal === null) expect(await met).toBeNull();
      else expect(await met).toMatch(refusal);
    } finally {
      await bouncer.close();
    }
  });
});

if (keepsStatements) describe('a gateway behind PgBouncer in transaction mode', gatewayBehindIt);

function gatewayBehindIt(): void {
  let bouncer: Bouncer;
  let gateway: Gateway;
  let project: TestProject;
  beforeAll(async () => {
    const own = await createTestDatabase({ template: process.env['TEST_GATEWAY_TEMPLATE'] });
    const database = await own.open();
    await database.query('', limits);
    bouncer = await startPgBouncer(own.runtimeUrl, {
      pool_mode: 'transaction',
      max_prepared_statements: '200',
      default_pool_size: serverConnections,
      max_client_conn: '200',
    });
    await own.shut();
    gateway = await startGateway({ scratch: own, env: { DATABASE_URL: bouncer.through(own.runtimeUrl) } });
    project = await gateway.project({ credits: 100_000_000 });
  });
  afterAll(async () => {
    await gateway?.stop();
    await bouncer?.close();
  });

  it('answers 1,000 chats and 200 creates, none with 5xx, and the books balance', async () => {
    const chat = { model: 'mistral-small-4', max_tokens: 20, messages: [{ role: 'user', content: 'hello' }] };
    const statuses = new Map<string, number>();
    const count = (what: string) => statuses.set(what, (statuses.get(what) ?? 0) + 1);
    const taskIds: string[] = [];
    await inLanes(
      Array.from({ length: 1_200 }, (_, n) => n),
      40,
      async (n) => {
        if (n % 6 !== 0)
          return void count(`chat ${(await gateway.create(project.apiKey, '/api/v1/chat/completions', chat)).status}`);
        const body = { model: 'aurora-image-1', prompt: `through the pooler ${n}` };
        const answer = await gateway.create(project.apiKey, mediaRoutes.image, body);
        count(`create ${answer.status}`);
        taskIds.push(answer.taskId);
      },
    );
    expect(Object.fromEntries(statuses)).toEqual({ 'chat 200': 1_000, 'create 202': 200 });
    for (const taskId of taskIds)
      expect(await gateway.poll(project.apiKey, taskId)).toMatchObject({ status: 'succeeded' });
    expect(await gateway.verifyLedger()).toMatchObject({ ok: true });
  });
}
