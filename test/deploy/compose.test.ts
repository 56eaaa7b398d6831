import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'yaml';
import { z } from 'zod';
import { chooseOwnPort } from '../support/own-port.ts';
import { settings } from '../../src/config/load-config.ts';
import { eventually } from '../support/eventually.ts';
import { metricValue } from '../support/metric-value.ts';
import { nodeBinary, projectFolder } from '../support/program.ts';
import { createTemporalNamespace, type TemporalNamespace } from '../support/temporal-namespace.ts';
import { createRolesAndDatabases, type OwnRoles } from './roles.ts';
import { makeImage, parseDockerfile, type Image, type Running } from './image.ts';

const read = (path: string): string => readFileSync(join(projectFolder, path), 'utf8');

const Strings = z.record(z.string(), z.string());
const Compose = z.object({
  services: z.record(
    z.string(),
    z.object({
      image: z.string(),
      profiles: z.array(z.string()).default([]),
      build: z.string().optional(),
      init: z.boolean().optional(),
      command: z.array(z.string()).optional(),
      entrypoint: z.array(z.string()).optional(),
      environment: Strings.default({}),
      depends_on: z.record(z.string(), z.object({ condition: z.string() })).default({}),
      healthcheck: z.object({ test: z.array(z.string()).optional(), disable: z.boolean().optional() }).optional(),
      restart: z.string(),
      read_only: z.boolean().default(false),
      tmpfs: z.array(z.string()).default([]),
      cap_drop: z.array(z.string()),
      cap_add: z.array(z.string()).default([]),
      security_opt: z.array(z.string()),
      ports: z.array(z.string()).default([]),
      networks: z.array(z.string()),
      volumes: z.array(z.string()).default([]),
      stop_grace_period: z.string().optional(),
    }),
  ),
  networks: z.record(z.string(), z.object({ internal: z.boolean().optional() })),
  volumes: z.record(z.string(), z.unknown()),
});

const compose = Compose.parse(parse(read('docker-compose.yml'), { merge: true }));
const dockerfile = parseDockerfile(read('Dockerfile'));
const final = dockerfile.at(-1) ?? [];
const words = (word: string) => final.filter((line) => line.word === word).map(({ rest }) => rest);
const only = (word: string): string => words(word).join('\n');
const jsonList = (text: string): string[] => z.array(z.string()).parse(JSON.parse(text.slice(text.indexOf('['))));
const service = (name: string) => {
  const found = compose.services[name];
  if (!found) throw new Error(`docker-compose.yml has no service ${name}`);
  return found;
};
const ours = ['migrate', 'api', 'worker'];
const programs = ['api', 'worker'];
const imageEnv = Object.fromEntries(
  [...only('ENV').matchAll(/(\w+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value]),
);
const settingNames = settings.map(({ name }) => name);
const demanded = new Set([...read('docker-compose.yml').matchAll(/\$\{(\w+)/g)].map(([, name]) => name ?? ''));

describe('the Dockerfile', () => {
  it('runs the pinned Node of the project as a user that is not root', () => {
    const { devDependencies } = z.object({ devDependencies: Strings }).parse(JSON.parse(read('package.json')));
    const bases = dockerfile.map((stage) => stage.find(({ word }) => word === 'FROM')?.rest.split(' ')[0]);
    const outside = bases.filter((base) => base?.includes(':'));
    expect(outside.length).toBeGreaterThan(0);
    for (const base of outside) expect(base).toBe(`node:${devDependencies['node'] ?? ''}-bookworm-slim`);
    expect(only('USER')).toBe('1000:1000');
    // No instruction after USER runs as root or copies files.
    expect(final.findIndex(({ word }) => word === 'USER')).toBeGreaterThan(
      final.findLastIndex(({ word }) => word === 'RUN' || word === 'COPY'),
    );
  });

  it('installs from the lock file without development packages and without package scripts', () => {
    const installs = dockerfile.flat().filter(({ word, rest }) => word === 'RUN' && rest.startsWith('npm'));
    const build =
      /^npm install --no-save --(omit|include)=dev --ignore-scripts [a-z -]+ && node scripts\/check-install\.mjs$/;
    // The second install builds the console. The image has the packages of the first one.
    expect(installs.map(({ rest }) => build.exec(rest)?.[1])).toEqual(['omit', 'include']);
    expect(words('COPY').filter((rest) => rest.startsWith('--from=console'))).toEqual([
      '--from=console /app/console/dist ./console/dist',
    ]);
    const Manifest = z.object({ dependencies: Strings });
    const lock = z.object({ packages: z.record(z.string(), z.unknown()) }).parse(JSON.parse(read('package-lock.json')));
    expect(Manifest.parse(lock.packages[''])).toEqual(Manifest.parse(JSON.parse(read('package.json'))));
  });

  it('fails the build if an installed package is not exactly that of the lock file', () => {
    const folder = mkdtempSync(join(tmpdir(), 'tollgate-install-'));
    const write = (name: string, packages: object) =>
      writeFileSync(join(folder, name), JSON.stringify({ packages: { ...packages } }));
    const check = () => spawnSync(nodeBinary, [join(projectFolder, 'scripts/check-install.mjs')], { cwd: folder });
    const one = { version: '1.0.0', resolved: 'https://registry.example/one-1.0.0.tgz', integrity: 'sha512-one' };
    const other = { ...one, optional: true, integrity: 'sha512-other' };
    try {
      mkdirSync(join(folder, 'node_modules'));
      write('package-lock.json', { '': {}, 'node_modules/one': one, 'node_modules/other': other });
      const installed = (packages: object) => {
        write('node_modules/.package-lock.json', packages);
        const { status, stderr } = check();
        return status === 0 ? 'accepted' : String(stderr).split('\n').slice(1, -1);
      };
      expect(installed({ 'node_modules/one': one })).toBe('accepted');
      expect(installed({ 'node_modules/one': { ...one, integrity: 'sha512-evil' } })).toEqual([
        'node_modules/one has another hash than package-lock.json',
      ]);
      expect(installed({ 'node_modules/one': { ...one, version: '1.0.1' } })).toEqual([
        'node_modules/one is 1.0.1, package-lock.json has 1.0.0',
      ]);
      expect(installed({ 'node_modules/one': one, 'node_modules/two': one })).toEqual([
        'node_modules/two@1.0.0 is not in package-lock.json',
      ]);
      expect(installed({ 'node_modules/other': other })).toEqual(['node_modules/one is missing']);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('copies only the paths that .dockerignore allows, and no secret', () => {
    const lines = read('.dockerignore')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'));
    expect(lines[0]).toBe('*');
    const allowed = lines.slice(1).map((line) => line.replace(/^!/, ''));
    expect(copied().filter((name) => !allowed.includes(name))).toEqual([]);
    expect(read('Dockerfile')).not.toMatch(/PASSWORD|PEPPER|MASTER|TOKEN/);
    expect(read('.gitignore')).toMatch(/^\.env$/m);
  });

  it('has a health check, a stop signal and a volume for the files', () => {
    expect(only('HEALTHCHECK')).toMatch(/--interval=\S+ --timeout=\S+ --start-period=\S+ --retries=\d+ CMD \["node"/);
    expect(only('STOPSIGNAL')).toBe('SIGTERM');
    expect(imageEnv['FILES_LOCAL_DIR']?.startsWith(`${only('VOLUME')}/`)).toBe(true);
  });
});

describe('docker-compose.yml', () => {
  it('names an exact version of every image that is not built here', () => {
    for (const { image, build } of Object.values(compose.services)) {
      if (build === undefined) expect(image).toMatch(/^[a-z/-]+:v?\d+(\.\d+)+$/);
    }
    const head = read('docker-compose.yml').split('\nname:')[0];
    expect(head).toMatch(/temporalio\/samples-server[^]*read on 2026-11-21/);
  });

  it('drops all capabilities, and our programs can write only to the volume and /tmp', () => {
    for (const [name, each] of Object.entries(compose.services)) {
      expect(each.cap_drop).toEqual(['ALL']);
      expect(each.security_opt).toEqual(['no-new-privileges:true']);
      expect(each.restart).toMatch(/^(unless-stopped|on-failure:\d+)$/);
      if (!ours.includes(name)) continue;
      expect(each).toMatchObject({ build: '.', init: true, read_only: true, cap_add: [] });
      expect(each.tmpfs).toEqual([expect.stringMatching(/^\/tmp:size=/)]);
      expect(each.volumes).toEqual([`files:${only('VOLUME')}`]);
    }
  });

  it('migrates before API server and worker start, and creates the Temporal schema before Temporal starts', () => {
    for (const name of programs) {
      expect(service(name).depends_on).toMatchObject({
        postgres: { condition: 'service_healthy' },
        migrate: { condition: 'service_completed_successfully' },
      });
    }
    expect(service('migrate').depends_on).toEqual({ postgres: { condition: 'service_healthy' } });
    expect(service('temporal').depends_on).toEqual({
      'temporal-schema': { condition: 'service_completed_successfully' },
    });
    for (const { depends_on } of Object.values(compose.services)) {
      for (const [name, { condition }] of Object.entries(depends_on)) {
        if (condition === 'service_healthy') expect(service(name).healthcheck?.test).toBeDefined();
        if (condition === 'service_completed_successfully') expect(service(name).restart).toMatch(/^on-failure/);
      }
    }
  });

  it('has a stop_grace_period that is longer than the shutdown', () => {
    const { environment } = service('worker');
    const chatSeconds = 130;
    const scheduledJobSeconds = 10;
    const grace = (name: string) => Number(/^(\d+)s$/.exec(service(name).stop_grace_period ?? '')?.[1]);
    expect(grace('api')).toBeGreaterThan(
      Number(service('api').environment['SHUTDOWN_READY_DELAY_SECONDS']) + chatSeconds + scheduledJobSeconds,
    );
    const forceSeconds = Number(environment['WORKER_SHUTDOWN_FORCE_SECONDS']);
    const submits = ['SUBMIT_TIMEOUT_SECONDS', 'SUBMIT_AT_ONCE_TIMEOUT_SECONDS'].map((name) =>
      z.number().parse(settings.find((setting) => setting.name === name)?.schema.parse(undefined)),
    );
    expect(forceSeconds).toBeGreaterThan(Math.max(...submits) + 15);
    expect(grace('worker')).toBeGreaterThan(forceSeconds + 15);
    expect(Number(environment['WORKER_SHUTDOWN_GRACE_SECONDS'])).toBeGreaterThanOrEqual(30);
  });

  it('starts Prometheus, Tempo and Grafana only with the profile `observability`, with files that are here', () => {
    const extra = Object.entries(compose.services).filter(([, { profiles }]) => profiles.length > 0);
    expect(extra.map(([name, { profiles }]) => [name, profiles])).toEqual(
      ['prometheus', 'tempo', 'grafana'].map((name) => [name, ['observability']]),
    );
    const mounted = Object.values(compose.services)
      .flatMap(({ volumes }) => volumes)
      .filter((volume) => volume.startsWith('./'))
      .map((volume) => volume.slice(2).split(':')[0] ?? '');
    expect(mounted.filter((path) => !existsSync(join(projectFolder, path)))).toEqual([]);
  });

  it('publishes ports on the loopback interface only, and none of the databases', () => {
    for (const { ports } of Object.values(compose.services)) {
      for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:\d+:\d+$/);
    }
    for (const name of ['postgres', 'temporal', 'temporal-schema', 'migrate', 'worker', 'tempo']) {
      expect(service(name).ports).toEqual([]);
    }
    expect(compose.networks['inside']).toEqual({ internal: true });
    for (const name of ['postgres', 'temporal']) expect(service(name).networks).toEqual(['inside']);
  });

  it('gives only migrate the role that owns the tables', () => {
    const holders = Object.entries(compose.services).filter(([, { environment }]) =>
      JSON.stringify(environment).includes('OWNER'),
    );
    expect(holders.map(([name]) => name)).toEqual(['postgres', 'migrate']);
    const userOf = (name: string, variable: string) =>
      /\/\/(\w+):/.exec(service(name).environment[variable] ?? '')?.[1];
    expect(userOf('migrate', 'MIGRATE_DATABASE_URL')).toBe('tollgate_owner');
    expect(ours.map((name) => userOf(name, 'DATABASE_URL'))).toEqual(['tollgate', 'tollgate', 'tollgate']);
  });

  it("starts Temporal's UI, which has no users, without its write actions", () => {
    expect(service('temporal-ui').environment['TEMPORAL_DISABLE_WRITE_ACTIONS']).toBe('true');
  });

  it('sets only known variables and requires every secret without a default', () => {
    const named = [...Object.keys(imageEnv), ...ours.flatMap((name) => Object.keys(service(name).environment))];
    expect(named.filter((name) => !settingNames.includes(name))).toEqual([]);
    for (const reference of read('docker-compose.yml').match(/(?<!\$)\$\{[^}]*\}/g) ?? []) {
      expect(reference).toMatch(/^\$\{\w+:\?see \.env\.example\}$/);
    }
    for (const { environment } of Object.values(compose.services)) {
      for (const [name, value] of Object.entries(environment)) {
        if (/PASSWORD|PWD|PEPPERS|MASTER_KEYS|TOKENS|DATABASE_URL/.test(name)) expect(value).toContain(':?');
      }
    }
  });

  it('has an .env.example with every required variable, without values and with the command for each secret', () => {
    const example = read('.env.example');
    expect([...example.matchAll(/^(\w+)=(.*)$/gm)].map(([, name, value]) => [name, value])).toEqual(
      [...example.matchAll(/^(\w+)=/gm)].map(([, name]) => [name, '']),
    );
    expect([...example.matchAll(/^(\w+)=/gm)].map(([, name]) => name).sort()).toEqual([...demanded].sort());
    expect(example.match(/openssl rand/g)).toHaveLength(4);
  });
});

describe('the production npm scripts', () => {
  it('run the command of docker-compose.yml, without pre and post scripts', () => {
    const { scripts } = z.object({ scripts: Strings }).parse(JSON.parse(read('package.json')));
    for (const name of ours) {
      expect(scripts[name]).toBe(`exec ${service(name).command?.join(' ')}`);
      expect([scripts[`pre${name}`], scripts[`post${name}`]]).toEqual([undefined, undefined]);
    }
  });

  it('import no development package', () => {
    const { dependencies } = z.object({ dependencies: Strings }).parse(JSON.parse(read('package.json')));
    // Only `npm start` uses these files: the embedded servers, the sandbox and the seed data.
    const development = /^src\/main\/(dev|servers|sandbox|seed-dev)\b/;
    const missing = readdirSync(join(projectFolder, 'src'), { recursive: true, encoding: 'utf8' })
      .map((name) => `src/${name}`)
      .filter((name) => name.endsWith('.ts') && !development.test(name))
      .flatMap((name) =>
        [...read(name).matchAll(/^(?:import|export) (?!type )[^;]*?from '([^.][^']*)';|import\('([^.][^']*)'\)/gm)]
          .map(([, one, other]) => one ?? other ?? '')
          .filter((from) => !from.startsWith('node:'))
          .map((from) => from.split('/', from.startsWith('@') ? 2 : 1).join('/'))
          .filter((from) => !(from in dependencies))
          .map((from) => `${name}: ${from}`),
      );
    expect(missing).toEqual([]);
  });
});

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
      secondsMax: 90,
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
    const taken = new Set<number>();
    ports = { api: await chooseOwnPort(taken), admin: await chooseOwnPort(taken), worker: await chooseOwnPort(taken) };
    env = {
      HOST: '127.0.0.1',
      PORT: String(ports.api),
      ADMIN_PORT: String(ports.admin),
      WORKER_HEALTH_PORT: String(ports.worker),
      DATABASE_URL: database.url,
      TEMPORAL_ADDRESS: temporal.address,
      TEMPORAL_NAMESPACE: temporal.namespace,
      SHUTDOWN_READY_DELAY_SECONDS: '8',
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
  });

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
    expect((await publicly(maintenance, { headers: scheduledJobRequest.headers })).status).toBe(200);
    expect((await publicly(maintenance)).status).toBe(401);
    expect((await publicly('/api/internal/jobs/check-api-channels', scheduledJobRequest)).status).toBeLessThan(300);
    expect((await publicly('/api/v1/models')).status).toBe(401);

    expect((await admin(maintenance, { headers: scheduledJobRequest.headers })).status).toBe(200);
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
    const port = await chooseOwnPort(new Set(Object.values(ports)));
    const alone = run('worker', { WORKER_HEALTH_PORT: String(port), TEMPORAL_ADDRESS: '127.0.0.1:1' }, unbundled);
    await eventually(() => Promise.resolve(alone.output().includes('Temporal does not answer yet')), {
      what: 'the first connection attempt, which follows the bundling',
      secondsMax: 90,
    });
    expect((await fetch(`http://127.0.0.1:${port}/livez`)).status).toBe(200);
    expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(503);
    alone.kill('SIGTERM');
    expect(await alone.exited).toBe(0);
  });

  it('stays ready while a newer release migrates the database', async () => {
    await database.asOwner(`insert into schema_migration (name) values ('9999-of-tomorrow')`);
    // The result of a readiness check is cached for two seconds.
    await sleep(2_500);
    await bothReady();
    await database.asOwner(`delete from schema_migration where name = '9999-of-tomorrow'`);
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

/** The paths that the last stage copies from the project folder. */
const copied = (): string[] =>
  words('COPY')
    .filter((rest) => !rest.startsWith('--from'))
    .flatMap((rest) => rest.split(' ').slice(0, -1))
    .map((name) => name.replace(/^\.\//, ''));

const interpolate = (text: string, values: Record<string, string>): string =>
  text.replace(/\$\{(\w+):\?[^}]*\}/g, (_, name: string) => values[name] ?? '');

const statusOf = (response: Promise<Response>): Promise<number> =>
  response.then(
    ({ status }) => status,
    () => 0,
  );
