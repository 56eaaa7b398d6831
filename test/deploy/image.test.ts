import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { chooseOwnPort } from '../support/own-port.ts';
import { eventually } from '../support/eventually.ts';
import { metricValue } from '../support/metric-value.ts';
import { createTemporalNamespace, type TemporalNamespace } from '../support/temporal-namespace.ts';
import { createRolesAndDatabases, type OwnRoles } from './roles.ts';
import { type Image, makeImage, type Running } from './image.ts';
import { copied, dockerfile, imageEnv, only, ours, programs, service } from './compose-file.ts';

const jsonList = (text: string): string[] => z.array(z.string()).parse(JSON.parse(text.slice(text.indexOf('['))));

describe('the image', () => {
  let image: Image;
  let unbundled: Image;
  let temporal: TemporalNamespace;
  let database: OwnRoles;
  let before: string[];
  let env: Record<string, string>;
  let ports: { api: number; admin: number; worker: number };
  const running: Record<string, Running> = {};
  const stopped: Running[] = [];

  const secrets: Record<string, string> = {
    PUBLIC_BASE_URL: 'https://api.example.com',
    POSTGRES_PASSWORD: randomBytes(24).toString('hex'),
    TOLLGATE_OWNER_DB_PASSWORD: randomBytes(24).toString('hex'),
    TOLLGATE_DB_PASSWORD: randomBytes(24).toString('hex'),
    TEMPORAL_DB_PASSWORD: randomBytes(24).toString('hex'),
    KEY_PEPPERS: `p1:${randomBytes(32).toString('base64')}`,
    MASTER_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    INTERNAL_JOB_TOKENS: randomBytes(32).toString('hex'),
  };
  /** The environment of the container, with the test's servers and ports and a shorter shutdown. */
  const environmentOf = (name: string): Record<string, string> => ({
    ...imageEnv,
    ...Object.fromEntries(
      Object.entries(service(name).environment).map(([variable, value]) => [variable, interpolate(value, secrets)]),
    ),
    ...env,
    ...(name === 'migrate' && { MIGRATE_DATABASE_URL: database.ownerUrl }),
  });
  const commandOf = (name: string): string[] => service(name).command ?? [];
  const run = (name: string, changes: Record<string, string> = {}, from = image): Running => {
    const started = from.run(commandOf(name), { ...environmentOf(name), ...changes });
    stopped.push(started);
    return started;
  };
  const admin = (path: string, init: RequestInit = {}) => fetch(`http://127.0.0.1:${ports.admin}${path}`, init);
  const publicly = (path: string, init: RequestInit = {}) => fetch(`http://127.0.0.1:${ports.api}${path}`, init);
  const worker = (path: string) => fetch(`http://127.0.0.1:${ports.worker}${path}`);

  const bothReady = () =>
    eventually(async () => (await statusOf(admin('/readyz'))) === 200 && (await statusOf(worker('/readyz'))) === 200, {
      what: 'readiness of API and worker',
      secondsMax: 240,
    });

  beforeAll(async () => {
    image = makeImage(copied());
    unbundled = makeImage(copied());
    // A file in place of the cache folder prevents the cache, even if this machine cannot make the root read-only.
    writeFileSync(join(unbundled.folder, 'node_modules', '.cache'), '');
    [temporal, database] = await Promise.all([
      createTemporalNamespace(),
      createRolesAndDatabases(secrets),
      ...dockerfile
        .flat()
        .filter(({ word, rest }) => word === 'RUN' && rest.startsWith('["node"'))
        .map(async ({ rest }) => {
          const step = image.build(jsonList(rest));
          expect([await step.exited, step.output()]).toEqual([0, expect.stringContaining('bundled_bytes')]);
        }),
    ]);
    ports = { api: await chooseOwnPort(), admin: await chooseOwnPort(), worker: await chooseOwnPort() };
    env = {
      HOST: '127.0.0.1',
      PORT: String(ports.api),
      ADMIN_PORT: String(ports.admin),
      WORKER_HEALTH_PORT: String(ports.worker),
      DATABASE_URL: database.url,
      TEMPORAL_ADDRESS: temporal.address,
      TEMPORAL_NAMESPACE: temporal.namespace,
      SHUTDOWN_READY_DELAY_SECONDS: '20',
      WORKER_SHUTDOWN_GRACE_SECONDS: '1',
      WORKER_SHUTDOWN_FORCE_SECONDS: '200',
    };
    before = [...image.files(), ...unbundled.files()];
    const migrate = run('migrate');
    expect([await migrate.exited, migrate.output()]).toEqual([0, expect.stringMatching(/"applied":\["0001-/)]);
    for (const name of programs) running[name] = run(name);
    await bothReady().catch((error: unknown) => {
      throw new Error(programs.map((name) => `${name}: ${running[name]?.output().slice(-2_000) ?? ''}`).join('\n'), {
        cause: error,
      });
    });
  }, 600_000);

  afterAll(async () => {
    for (const each of stopped) each.kill('SIGKILL');
    await Promise.all(stopped.map(({ exited }) => exited));
    await temporal?.close();
    await database?.drop();
    image?.remove();
    unbundled?.remove();
  });

  it('serves clients and internal routes on both ports, and probes, metrics and the admin API only on the admin port', async () => {
    const scheduledJobRequest = {
      method: 'POST',
      headers: { authorization: `Bearer ${secrets['INTERNAL_JOB_TOKENS'] ?? ''}` },
    };
    const maintenance = '/api/internal/jobs/scheduled-maintenance';
    for (const path of ['/livez', '/readyz', '/metrics', '/api/admin/v1/projects']) {
      const answer = await publicly(path, { headers: scheduledJobRequest.headers });
      expect([path, answer.status]).toEqual([path, 404]);
      expect(await answer.json()).toMatchObject({ error: { code: 'not_found' } });
    }
    // All paths of the specification are relative to the base URL.
    expect(await settledStatusOf(() => publicly(maintenance, { headers: scheduledJobRequest.headers }))).toBe(200);
    expect((await publicly(maintenance)).status).toBe(401);
    const check = '/api/internal/jobs/check-api-channels';
    expect(await settledStatusOf(() => publicly(check, scheduledJobRequest))).toBeLessThan(300);
    expect((await publicly('/api/v1/models')).status).toBe(401);

    expect(await settledStatusOf(() => admin(maintenance, { headers: scheduledJobRequest.headers }))).toBe(200);
    expect((await admin(maintenance)).status).toBe(401);
    expect((await admin('/api/admin/v1/projects')).status).toBe(401);
    // The playground of the console calls it.
    expect((await admin('/api/v1/models')).status).toBe(401);
    expect(await (await admin('/livez')).json()).toEqual({ status: 'ok' });
  });

  it('serves the metrics of API server and worker in the Prometheus format', async () => {
    for (const answer of [await admin('/metrics'), await worker('/metrics')]) {
      expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
      expect(metricValue(await answer.text(), 'tollgate_api_details_lost_total')).toBe(0);
    }
  });

  it('has health checks that pass for a running program and fail without one', async () => {
    const checks = [
      jsonList(only('HEALTHCHECK')),
      ...programs.map((name) => service(name).healthcheck?.test?.slice(1) ?? []),
    ];
    expect(checks.map((check) => check.at(-1))).toEqual([
      'http://127.0.0.1:9090/livez',
      'http://127.0.0.1:9090/readyz',
      'http://127.0.0.1:9090/readyz',
    ]);
    for (const [name, here] of Object.entries({ api: ports.admin, worker: ports.worker, none: 1 })) {
      // API server and worker have the same check.
      for (const check of new Set(checks.map((words) => words.join(' ')))) {
        const command = check.split(' ').map((word) => word.replace(':9090/', `:${here}/`));
        const codes = [await image.run(command, {}).exited];
        // A check that takes too long fails. The test repeats the check, as Docker does.
        while (name !== 'none' && codes.length < 5 && codes.at(-1) === 1)
          codes.push(await image.run(command, {}).exited);
        expect([name, codes.at(-1)]).toEqual([name, name === 'none' ? 1 : 0]);
      }
    }
  });

  it('migrates a second time without changes, also through npm, and runs the command line', async () => {
    const { npm_execpath: npm } = process.env;
    const commands = [
      commandOf('migrate'),
      ...(npm?.endsWith('.js') ? [['node', npm, 'run', '--silent', '--no-update-notifier', 'migrate']] : []),
    ];
    const runs = commands.map((command) => image.run(command, { ...environmentOf('migrate'), HOME: '/tmp' }));
    for (const each of runs) expect([await each.exited, each.output().trim()]).toEqual([0, '{"applied":[]}']);
    const tollgate = image.run(['node', 'bin/tollgate.mjs', 'projects', 'list', '--json'], environmentOf('api'));
    expect([await tollgate.exited, JSON.parse(tollgate.output())]).toEqual([0, expect.anything()]);
  });

  it('exits at startup if a secret is missing or malformed, and names the variable but not its value', async () => {
    const bad = {
      DATABASE_URL: '',
      KEY_PEPPERS: '',
      MASTER_KEYS: 'k1:dG9vLXNob3J0',
      INTERNAL_JOB_TOKENS: 'short-token',
    };
    const runs = ours.map((name) => run(name, { ...bad, ADMIN_PORT: 'nowhere' }));
    for (const each of runs) {
      expect(await each.exited).toBe(2);
      const output = each.output();
      for (const line of [
        'DATABASE_URL is required',
        'KEY_PEPPERS is required',
        'MASTER_KEYS must be',
        'INTERNAL_JOB_TOKENS must be',
        'ADMIN_PORT ',
      ]) {
        expect(output).toContain(line);
      }
      expect(output).not.toMatch(/dG9vLXNob3J0|short-token|nowhere/);
    }
  });

  it('has a worker that is live but not ready while Temporal is down, bundles in memory and stops on SIGTERM', async () => {
    const port = await chooseOwnPort();
    const alone = run('worker', { WORKER_HEALTH_PORT: String(port), TEMPORAL_ADDRESS: '127.0.0.1:1' }, unbundled);
    await eventually(() => Promise.resolve(alone.output().includes('Temporal does not answer yet')), {
      what: 'the first connection attempt, which follows the bundling',
      secondsMax: 240,
    });
    expect((await fetch(`http://127.0.0.1:${port}/livez`)).status).toBe(200);
    expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(503);
    alone.kill('SIGTERM');
    expect(await alone.exited).toBe(0);
  });

  it('stays ready while a newer release migrates the database', async () => {
    await database.asOwner(`insert into applied_migration (name) values ('9999-of-tomorrow')`);
    // The result of a readiness check is cached for two seconds.
    await sleep(2_500);
    await bothReady();
    await database.asOwner(`delete from applied_migration where name = '9999-of-tomorrow'`);
  });

  it('reports not ready after SIGTERM, stays live while draining and exits with 0', async () => {
    running['api']?.kill('SIGTERM');
    await eventually(async () => (await statusOf(admin('/readyz'))) === 503, { what: 'a failing readiness probe' });
    expect(await statusOf(admin('/livez'))).toBe(200);
    // Requests from load balancers that have not noticed yet are still served.
    expect(await statusOf(publicly('/api/v1/models'))).toBe(401);
    running['worker']?.kill('SIGTERM');
    for (const name of programs) expect([name, await running[name]?.exited]).toEqual([name, 0]);
  });

  it('leaves the files of the image unchanged', () => {
    expect([...image.files(), ...unbundled.files()]).toEqual(before);
  });
});

const interpolate = (text: string, values: Record<string, string>): string =>
  text.replace(/\$\{(\w+):\?[^}]*\}/g, (_, name: string) => values[name] ?? '');

const statusOf = (response: Promise<Response>): Promise<number> =>
  response.then(
    ({ status }) => status,
    () => 0,
  );

/** The status of an answer other than 503, which a busy machine may cause: the image waits for PostgreSQL as long as production does. */
const settledStatusOf = (ask: () => Promise<Response>): Promise<number> =>
  eventually(async () => {
    const { status } = await ask();
    return status !== 503 && status;
  });
