import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { migrate, contract } from '../../src/db/migrate.ts';
import { cli } from '../../src/main/cli.ts';
import { endsOf, eventually } from '../faults/crowd.ts';
import { createTestDatabase, runtimeRole, runtimeUrlOf } from '../support/database.ts';
import { unpackFormerRelease, type FormerRelease } from '../support/former-release.ts';
import { quickSettings } from '../support/gateway-settings.ts';
import { startGateway, type Gateway, type TestProject } from '../support/gateway.ts';
import { placeholderUrl } from '../support/lead-channels.ts';
import { mixedLoadText, startMixedLoad, type MixedLoad } from './mixed-load.ts';

/** The former release's catalog, channels and a project, written by its own code. */
const seed = `
import { openDatabase } from './src/db/database.ts';
import { createOperator } from './test/support/operator.ts';
const database = openDatabase({ url: process.env.DATABASE_URL, poolMax: 2, connectTimeoutMs: 30000, statementTimeoutMs: 60000 });
const operator = createOperator(database, process.env);
await operator.prepare();
console.log(JSON.stringify(await operator.project({ credits: 10_000_000 })));
await database.close();`;

describe('the former release beside this one on one database', () => {
  let former: FormerRelease;
  let gateway: Gateway;
  let project: TestProject;
  let load: MixedLoad;
  let formerEnv: Record<string, string>;

  beforeAll(async () => {
    former = unpackFormerRelease();
    const scratch = await createTestDatabase({ migrated: false });
    const runtimeUrl = runtimeUrlOf(scratch.url);
    const owner = {
      ...quickSettings,
      PATH: process.env['PATH'] ?? '',
      SANDBOX_URL: placeholderUrl,
      CATALOG_FILE: 'catalog',
    };
    await former.run(['src/main/migrate.ts'], {
      ...owner,
      DATABASE_URL: runtimeUrl,
      MIGRATE_DATABASE_URL: scratch.url,
    });
    const seeded = await former.run(['--input-type=module', '-e', seed], { ...owner, DATABASE_URL: scratch.url });
    project = JSON.parse(seeded.trim().split('\n').at(-1) ?? '') as TestProject;
    gateway = await startGateway({
      apis: 0,
      workers: 0,
      prepare: false,
      scratch: { url: scratch.url, runtimeUrl, drop: () => scratch.drop() },
      env: { JOB_CALLBACKS_SECONDS: '2', JOB_STALE_TASKS_SECONDS: '2', JOB_MAINTENANCE_SECONDS: '5' },
    });
    formerEnv = { CATALOG_FILE: 'catalog' };
    load = startMixedLoad(gateway, project);
  });
  afterAll(async () => {
    await load?.stop();
    await gateway?.stop({ keepLogs: true });
    await former?.close();
  });

  const startFormer = async () => {
    const worker = await gateway.startWorker(formerEnv, former.folder);
    const api = await gateway.startApi(formerEnv, former.folder);
    load.add(api.baseUrl);
    return { worker: worker.name, api };
  };
  const startThis = async () => {
    const worker = await gateway.startWorker();
    const api = await gateway.startApi();
    load.add(api.baseUrl);
    return { worker: worker.name, api };
  };
  const stop = async ({ worker, api }: Awaited<ReturnType<typeof startThis>>) => {
    await load.remove(api.baseUrl);
    await gateway.kill(api.name, 'SIGTERM');
    await gateway.kill(worker, 'SIGTERM');
  };

  /** Throws as soon as one request has failed. */
  const serve = async (when: string) => {
    await load.more(when);
    expect(load.failures).toEqual([]);
  };

  it('fails no request while releases go forward, back and forward again', async () => {
    let old = await startFormer();
    await serve('the former release alone');
    await migrate(gateway.database, { runtimeRole });
    await serve('the former release on the new schema');
    let own = await startThis();
    await serve('both releases');
    await stop(old);
    await serve('this release alone');
    old = await startFormer();
    await serve('both releases, on the way back');
    await stop(own);
    await serve('the former release alone, gone back to');
    own = await startThis();
    await serve('both releases, on the way forward again');
    await stop(old);
    await serve('this release alone again');
    await load.stop();
    expect(load.failures).toEqual([]);
  });

  it('loses no task, buys no job twice and sends each callback under one id', async () => {
    const ends = await endsOf(gateway, project.projectId);
    const rows = await gateway.database.query<{ id: string; key: string }>(
      '',
      `select id, metadata->>'key' as key from task`,
    );
    const keyOf = new Map(rows.map(({ id, key }) => [id, key]));
    const failed = ends.filter(({ id, status }) => status === 'failed' && !keyOf.get(id)?.startsWith('opener'));
    expect(failed).toEqual([]);
    expect(ends).toHaveLength(load.counts.tasks + load.counts.busy * 2 + load.counts.canceled);
    const keys = (await gateway.hits(mixedLoadText, 'submit')).map(({ idempotency_key: key }) => key);
    expect(keys.filter((key, index) => keys.indexOf(key) !== index)).toEqual([]);
    const [bought] = await gateway.database.query<{ n: number }>(
      '',
      `select count(*)::int as n from (select request_id from attempt where outcome = 'ok' group by 1 having count(*) > 1) twice`,
    );
    expect(bought).toEqual({ n: 0 });
    await eventually(60, async () => {
      const [row] = await gateway.database.query<{ n: number }>(
        '',
        `select count(*)::int as n from delivery where state = 'pending'`,
      );
      return row?.n === 0 || `${row?.n} callbacks are pending`;
    });
    const callbacks = await gateway.database.query<{ silent: number; repeated: number }>(
      '',
      `select count(*) filter (where sent.n = 0)::int as silent, count(*) filter (where sent.first > 1)::int as repeated
       from task t cross join lateral (
         select count(*) filter (where state = 'delivered') as n, count(*) filter (where workflow_id is null) as first
         from delivery d where d.task_id = t.id) sent
       where t.completed_at is not null and t.admission = 'reserved'`,
    );
    expect(callbacks).toEqual([{ silent: 0, repeated: 0 }]);
  });

  it('balances the books, as both releases verify', async () => {
    const verify = ['ledger', 'verify', '--full', '--json'];
    const byFormer = await former.run(['src/main/cli.ts', ...verify], gateway.env);
    expect(JSON.parse(byFormer)).toMatchObject({ ok: true });
    const written: string[] = [];
    expect([await cli(verify, gateway.env, (text) => written.push(text)), JSON.parse(written.join(''))]).toEqual([
      0,
      expect.objectContaining({ ok: true }),
    ]);
  });

  it('refuses the start of the former release after the second step', async () => {
    await contract(gateway.database);
    await expect(gateway.startWorker(formerEnv, former.folder)).rejects.toThrow('The database is newer than this code');
  });
});
