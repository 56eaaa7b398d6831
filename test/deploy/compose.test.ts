import { describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { listedSettings } from '../../src/config/load-config.ts';
import { nodeBinary, projectFolder } from '../support/program.ts';
import {
  compose,
  copied,
  dockerfile,
  final,
  imageEnv,
  only,
  ours,
  programs,
  read,
  service,
  Strings,
  words,
} from './compose-file.ts';

const settingNames = listedSettings.map(({ name }) => name);
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

  it('needs no shell when it runs: every command is a list of words', () => {
    expect(words('CMD')).toEqual([expect.stringMatching(/^\["node", /)]);
    expect(only('HEALTHCHECK')).toMatch(/CMD \["node", /);
    expect([...words('ENTRYPOINT'), ...words('SHELL')]).toEqual([]);
    for (const name of ours) expect(service(name).command?.[0]).toBe('node');
  });

  it('has only packages whose licences were accepted', () => {
    const { status, stdout, stderr } = spawnSync(nodeBinary, [join(projectFolder, 'scripts/list-licenses.mjs')], {
      encoding: 'utf8',
    });
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^MIT \(\d+\): /m);
  });

  it('is built by a workflow for two architectures, with provenance, an SBOM in CycloneDX and a signature', () => {
    const Workflow = z.object({ jobs: z.record(z.string(), z.object({ steps: z.array(z.unknown()) })) });
    const steps = JSON.stringify(Workflow.parse(parse(read('.github/workflows/image.yml'))).jobs['image']?.steps);
    for (const part of ['linux/amd64,linux/arm64', 'mode=max', 'cyclonedx-json', 'cosign sign', 'cosign attest']) {
      expect(steps).toContain(part);
    }
    const checks = JSON.stringify(Workflow.parse(parse(read('.github/workflows/ci.yml'))).jobs['packages']?.steps);
    expect(checks).toContain('npm audit signatures');
    expect(checks).toContain('list-licenses.mjs');
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
      z.number().parse(listedSettings.find((setting) => setting.name === name)?.schema.parse(undefined)),
    );
    expect(forceSeconds).toBeGreaterThan(Math.max(...submits) + 15);
    expect(grace('worker')).toBeGreaterThan(forceSeconds + 15);
    expect(Number(environment['WORKER_SHUTDOWN_GRACE_SECONDS'])).toBeGreaterThanOrEqual(30);
  });

  it('runs two API servers that differ in nothing, behind a proxy that gives up later than they do', () => {
    expect(service('api-2')).toEqual(service('api'));
    expect(service('proxy').ports.map((port) => port.split(':').slice(1))).toEqual([
      ['8080', '8080'],
      ['9090', '9090'],
    ]);
    const seconds = (name: string) => Number.parseInt(service(name).stop_grace_period ?? '0', 10);
    expect(seconds('proxy')).toBeGreaterThan(seconds('api'));
  });

  it('gives the token of the metrics to the programs and to Prometheus, in a file of its own', () => {
    const holders = Object.entries(compose.services).filter(([, { env_file: files }]) =>
      files.some(({ path }) => path === 'metrics.env'),
    );
    expect(holders.map(([name]) => name).sort()).toEqual([...ours, 'prometheus'].sort());
    expect(read('.gitignore')).toMatch(/^metrics\.env$/m);
    const [, file = ''] = />(\/tmp\/\w+)/.exec(service('prometheus').command?.[0] ?? '') ?? [];
    const used = read('deploy/prometheus/prometheus.yml').match(/credentials_file: [^ ]+/g);
    expect(used).toEqual([`credentials_file: ${file}`, `credentials_file: ${file}`]);
  });

  it('starts the services of the profiles `backup` and `observability` only with their profile, with files that are here', () => {
    const extra = Object.entries(compose.services).filter(([, { profiles }]) => profiles.length > 0);
    expect(Object.fromEntries(extra.map(([name, { profiles }]) => [name, profiles]))).toEqual({
      backup: ['backup'],
      ...Object.fromEntries(
        ['prometheus', 'alertmanager', 'tempo', 'grafana'].map((name) => [name, ['observability']]),
      ),
    });
    const mounted = Object.values(compose.services)
      .flatMap(({ volumes }) => volumes)
      .filter((volume) => volume.startsWith('./'))
      .map((volume) => volume.slice(2).split(':')[0] ?? '');
    expect(mounted.filter((path) => !existsSync(join(projectFolder, path)))).toEqual([]);
  });

  it('archives the WAL of each minute, where `backup` reads the data of PostgreSQL and may not write it', () => {
    const { command, volumes } = service('postgres');
    expect(command).toEqual(
      expect.arrayContaining(['archive_mode=on', 'archive_command=archive-wal %p', 'archive_timeout=60']),
    );
    expect(volumes).toEqual(expect.arrayContaining(['backups:/var/lib/pgbackrest']));
    expect(service('backup')).toMatchObject({ build: 'deploy/postgres', read_only: true, command: ['back-up'] });
    expect(service('backup').volumes).toEqual([
      'postgres:/var/lib/postgresql/data:ro',
      'postgres-socket:/var/run/postgresql',
      'backups:/var/lib/pgbackrest',
    ]);
    const settings = read('deploy/postgres/pgbackrest.conf');
    for (const file of ['archive-wal', 'back-up']) {
      expect(settings).toContain(`[${/--stanza=(\w+)/.exec(read(`deploy/postgres/${file}`))?.[1] ?? ''}]`);
    }
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
    expect(ours.map((name) => userOf(name, 'DATABASE_URL'))).toEqual(ours.map(() => 'tollgate'));
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
    for (const name of ['migrate', ...programs]) {
      expect(scripts[name]).toBe(`exec ${service(name).command?.join(' ')}`);
      expect([scripts[`pre${name}`], scripts[`post${name}`]]).toEqual([undefined, undefined]);
    }
  });
});

/** The packages that the code of a folder imports as values, with the file that does. */
const importedBy = (folder: string): { file: string; name: string }[] =>
  readdirSync(join(projectFolder, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => `${folder}/${name}`)
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) =>
      [...read(file).matchAll(/^(?:import|export) (?!type )[^;]*?from '([^.][^']*)';|import\('([^.][^']*)'\)/gm)]
        .map(([, one, other]) => one ?? other ?? '')
        .filter((from) => !from.startsWith('node:'))
        .map((from) => ({ file, name: from.split('/', from.startsWith('@') ? 2 : 1).join('/') })),
    );

describe('package.json', () => {
  const Manifest = z.object({ dependencies: Strings, devDependencies: Strings.default({}) });
  const root = Manifest.parse(JSON.parse(read('package.json')));

  it('names what production imports under `dependencies`', () => {
    expect(importedBy('src').filter(({ name }) => !(name in root.dependencies))).toEqual([]);
  });

  it.each(['packages/dev-stack', 'packages/sandbox'])(
    'of %s names what it imports, with the version of the project, as the lock file does',
    (folder) => {
      const own = Manifest.parse(JSON.parse(read(`${folder}/package.json`)));
      const named = { ...own.dependencies, ...own.devDependencies };
      expect(importedBy(folder).filter(({ name }) => !(name in named))).toEqual([]);
      expect({ ...root.dependencies, ...root.devDependencies }).toMatchObject(named);
      // Under `dependencies` a package is one of production for npm, and an image gets it.
      expect(root.dependencies).toMatchObject(own.dependencies);
      const lock = z
        .object({ packages: z.record(z.string(), z.unknown()) })
        .parse(JSON.parse(read('package-lock.json')));
      expect(Manifest.parse(lock.packages[folder])).toEqual(own);
    },
  );
});
