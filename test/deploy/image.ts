import { spawn, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { projectFolder } from '../support/program.ts';

/** A folder with the content of the image that `docker build` would make, and the means to run commands in this folder. */
export interface Image {
  folder: string;
  /** Runs a command as in a container, where only /tmp and the volume are writable. */
  run(command: readonly string[], env: Record<string, string>): Running;
  /** Runs a command with writable image files, as during the build. */
  build(command: readonly string[]): Running;
  /** Every file below the folder with its size and time, without packages. */
  files(): string[];
  remove(): void;
}

export interface Running {
  pid: number;
  /** The output so far on stdout and stderr. */
  output(): string;
  /** The exit code, or the name of the signal. */
  exited: Promise<number | string>;
  kill(signal: NodeJS.Signals): void;
}

export interface Instruction {
  word: string;
  rest: string;
}

/** The instructions of each stage, with joined continuation lines and without comments. */
export function parseDockerfile(text: string): Instruction[][] {
  const stages: Instruction[][] = [];
  const joined = text.replace(/^#.*\n/gm, '').replace(/\\\n\s*/g, '');
  for (const line of joined.split('\n').filter((each) => each.trim() !== '')) {
    const [, word = '', rest = ''] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? [];
    if (word === 'FROM') stages.push([]);
    stages.at(-1)?.push({ word, rest });
  }
  return stages;
}

/** The name of a stage, and the stage or image that it begins with. */
export function stageNames(stage: readonly Instruction[]): { from: string; name: string } {
  const [from = '', , name = ''] = stage.find(({ word }) => word === 'FROM')?.rest.split(' ') ?? [];
  return { from, name };
}

/** The arguments of each COPY of a stage: where from, another stage or null for the project folder, what, and where to. */
export const copiesOf = (stage: readonly Instruction[]): { from: string | null; paths: string[]; target: string }[] =>
  stage
    .filter(({ word }) => word === 'COPY')
    .map(({ rest }) => {
      const [, from = null, names = ''] = /^(?:--from=(\S+) )?(.*)$/.exec(rest) ?? [];
      const paths = names.split(' ');
      return { from, target: paths.pop() ?? '', paths };
    });

/** Makes a folder with the copied paths of the last stage and links to the production packages. */
export function makeImage(copied: readonly string[]): Image {
  const root = mkdtempSync(join(tmpdir(), 'tollgate-image-'));
  const folder = join(root, 'app');
  mkdirSync(join(root, 'volume'));
  for (const name of copied) cpSync(join(projectFolder, name), join(folder, name), { recursive: true });
  for (const name of productionPackages()) {
    const link = join(folder, 'node_modules', name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(projectFolder, 'node_modules', name), link);
  }
  const contained = canContain(root);
  return {
    folder,
    run: (command, env) =>
      contained
        ? start(wrapped(root, command), { ...env, FILES_LOCAL_DIR: `${volumeInside}/files` })
        : start(command, { ...env, FILES_LOCAL_DIR: join(root, 'volume', 'files') }, folder),
    build: (command) => start(command, {}, folder),
    files: () => filesBelow(folder),
    remove: () => rmSync(root, { recursive: true, force: true, maxRetries: 3 }),
  };
}

const Lock = z.object({ packages: z.record(z.string(), z.object({ dev: z.boolean().optional() })) });

/** The packages that `npm ci --omit=dev` would install on this operating system. */
function productionPackages(): string[] {
  const { packages } = Lock.parse(JSON.parse(readFileSync(join(projectFolder, 'package-lock.json'), 'utf8')));
  return Object.entries(packages)
    .filter(([path, { dev }]) => /^node_modules\/(@[^/]+\/)?[^/]+$/.test(path) && dev !== true)
    .map(([path]) => path.slice('node_modules/'.length))
    .filter((name) => existsSync(join(projectFolder, 'node_modules', name)));
}

// These folders exist on every Linux. The mounts below cover them only in the namespace of the process.
const imageInside = '/mnt';
const volumeInside = '/media';
const packagesAside = '/srv';
const enter = [
  `mount --bind "$1/app" ${imageInside}`,
  `mount --bind "$1/volume" ${volumeInside}`,
  // The links of the image lead to these packages and to the Node binary. The new /tmp may hide them.
  `mount --bind "$2" ${packagesAside}`,
  'mount -t tmpfs -o size=64m tmpfs /tmp',
  'mkdir -p "$2"',
  `mount --bind ${packagesAside} "$2"`,
  'mount -o remount,bind,ro "$2"',
  `mount -o remount,bind,ro ${imageInside}`,
  'mount -o remount,bind,ro /',
  `cd ${imageInside}`,
  'shift 2',
  'exec setpriv --no-new-privs --bounding-set=-all --inh-caps=-all "$@"',
].join(' && ');

const packages = join(projectFolder, 'node_modules');

/** The command line that runs the command in a mount namespace with a read-only root, under the same process id. */
const wrapped = (root: string, command: readonly string[]): string[] => [
  'unshare',
  '--mount',
  '--propagation',
  'private',
  'sh',
  '-c',
  enter,
  'sh',
  root,
  packages,
  ...command,
];

/** Whether this machine allows such a namespace. Without one, the test still checks that no file has changed. */
function canContain(root: string): boolean {
  const script = `require('node:fs').statSync('src'); try { require('node:fs').writeFileSync('x', '') } catch { process.exit(7) }`;
  const [program = '', ...args] = wrapped(root, ['node', '-e', script]);
  return spawnSync(program, args, { env: { PATH: path }, timeout: 60_000 }).status === 7;
}

// The folder of the Node binary, which has no commands of packages.
const path = `${dirname(process.execPath)}:/usr/bin:/bin:/usr/sbin:/sbin`;
const outputMaxChars = 1_000_000;

function start(command: readonly string[], env: Record<string, string>, cwd = '/'): Running {
  const [program = '', ...args] = command;
  const child = spawn(program, args, { cwd, env: { ...env, PATH: path }, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      if (output.length < outputMaxChars) output += text;
    });
  }
  const exited = new Promise<number | string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) => resolve(signal ?? code ?? 'gone'));
  });
  return { pid: child.pid ?? 0, output: () => output, exited, kill: (signal) => void child.kill(signal) };
}

/** Does not follow the links to the packages, as a recursive `readdir` would. */
function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return filesBelow(path);
      if (!entry.isFile()) return [];
      const { size, mtimeMs } = statSync(path);
      return [`${path} ${size} ${mtimeMs}`];
    })
    .sort();
}
