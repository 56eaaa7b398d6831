import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { startPostgres, type PostgresServer } from '../../packages/dev-stack/src/servers/postgres.ts';
import { openDatabase } from '../../src/db/database.ts';
import { readWorkInHand } from '../../src/db/tasks/work-in-hand.ts';
import { startGuardian } from '../../packages/dev-stack/src/processes/start-guardian.ts';
import { createAdminToken } from '../../src/services/operators/create-admin-token.ts';
import { startCountingProxy, type CountingProxy } from '../support/counting-proxy.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, type Gateway } from '../support/gateway.ts';
import { chooseOwnPort } from '../support/own-port.ts';
import { testConfig } from '../support/test-config.ts';

const guardian = startGuardian();
const folder = mkdtempSync(join(tmpdir(), 'tollgate-replica-'));
guardian.removeFolder(folder);
const password = 'of-this-test';

let primary: PostgresServer;
let replica: PostgresServer;
let proxy: CountingProxy;
let gateway: Gateway;
/** The admin API of an API server that has the replica. */
let ask: (path: string, body?: object) => Promise<Record<string, unknown>>;
let log: () => string;

const startPrimary = (port: number) =>
  startPostgres({
    dir: join(folder, 'primary'),
    port,
    keepPort: true,
    password,
    settings: { archive_mode: 'on', archive_command: 'false' },
    guardian,
  });
const startReplica = (port: number) =>
  startPostgres({
    dir: join(folder, 'replica'),
    port,
    keepPort: true,
    password,
    settings: { primary_conninfo: `host=127.0.0.1 port=${primary.port} user=tollgate password=${password}` },
    guardian,
  });

beforeAll(async () => {
  primary = await startPrimary(await chooseOwnPort());
  await primary.stop();
  spawnSync('cp', ['-a', join(folder, 'primary'), join(folder, 'replica')]);
  writeFileSync(join(folder, 'replica', 'standby.signal'), '');
  primary = await startPrimary(primary.port);
  replica = await startReplica(await chooseOwnPort());
  process.env['TEST_DATABASE_URL'] = primary.url;
  for (const name of ['TEST_DATABASE_TEMPLATE', 'TEST_GATEWAY_TEMPLATE', 'TEST_RUNTIME_PASSWORD'])
    delete process.env[name];
  gateway = await startGateway({ apis: 0, workers: 0, sandbox: false });
  proxy = await startCountingProxy(replica.port);
  const adminPort = await chooseOwnPort();
  const { name } = await gateway.startApi({
    ADMIN_PORT: String(adminPort),
    DATABASE_READ_URL: proxy.through(gateway.env['DATABASE_URL'] ?? ''),
  });
  log = () => readFileSync(join(gateway.logFolder, `${name}.log`), 'utf8');
  const deps = { db: gateway.database, config: testConfig(gateway.env) };
  const { token } = await createAdminToken(deps, { actor: 'test', name: 'ada', role: 'owner', expiresAt: null });
  ask = async (path, body) => {
    const answer = await fetch(`http://127.0.0.1:${adminPort}/api/admin/v1${path}`, {
      method: body ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    expect(answer.status).toBe(200);
    return z.record(z.string(), z.unknown()).parse(await answer.json());
  };
});
afterAll(async () => {
  await gateway?.stop();
  await proxy?.close();
  await replica?.stop();
  await primary?.stop();
  await guardian.close();
});

const Named = z.object({ data: z.array(z.object({ name: z.string() })) });
const projectNames = async () => Named.parse(await ask('/projects?limit=100')).data.map(({ name }) => name);
let made = 0;
/** Creates a project and returns its name. */
async function aProject(): Promise<string> {
  const name = `project ${++made}`;
  await ask('/projects', { name });
  return name;
}
/** What the replica ran since the last call, but for the question how far it is. */
const ranOnReplica = () =>
  [...proxy.take().keys()].filter((name) => !['', 'replayed-lsn'].includes(name) && !/^(set|begin|commit)/i.test(name));
const untilReplicaServes = () =>
  eventually(
    async () => {
      await projectNames();
      return ranOnReplica().length > 0;
    },
    { what: 'a read on the replica' },
  );

describe('with DATABASE_READ_URL', () => {
  it('the replica answers lists, usage and searches, and an operator reads every change of a moment ago', async () => {
    await untilReplicaServes();
    for (let n = 0; n < 10; n++) {
      const name = await aProject();
      expect(await projectNames()).toContain(name);
    }
    // The primary answers while the replica of a slow machine is behind.
    for (const path of ['/usage?group_by=day', '/requests', '/audit', '/search?q=project', '/keys'])
      await eventually(async () => (await ask(path), ranOnReplica().length > 0), { what: `${path} on the replica` });
    expect(log()).not.toMatch(/"reason":"(failed|no_standby)"/);
  });

  it('the primary answers the overview, because each server has statistics of its own', async () => {
    ranOnReplica();
    await ask('/overview');
    expect(ranOnReplica()).toEqual([]);
  });

  it('the primary answers with every change while the replica is behind, and the log says so', async () => {
    const onReplica = openDatabase({
      url: replica.url,
      poolMax: 1,
      connectTimeoutMs: 60_000,
      statementTimeoutMs: 60_000,
    });
    try {
      await onReplica.query('', 'select pg_wal_replay_pause()');
      const name = await aProject();
      expect(await projectNames()).toContain(name);
      await eventually(async () => {
        await projectNames();
        return log().includes('"reason":"behind"');
      });
      await onReplica.query('', 'select pg_wal_replay_resume()');
    } finally {
      await onReplica.close();
    }
    await untilReplicaServes();
  });

  it('the primary answers while the replica is away, and the replica again when it is back', async () => {
    await replica.stop();
    const name = await aProject();
    expect(await projectNames()).toContain(name);
    await eventually(async () => {
      await projectNames();
      return log().includes('"reason":"failed"');
    });
    replica = await startReplica(replica.port);
    await untilReplicaServes();
    expect(await projectNames()).toContain(name);
  });
});

it('WAL that PostgreSQL fails to archive has an age in the gauges of the primary', async () => {
  await gateway.database.query('', 'select pg_switch_wal()');
  const age = async () => (await readWorkInHand(gateway.database)).walNotArchivedSeconds;
  await eventually(async () => (await age()) > 0, { what: 'the failure of the archive' });
});
