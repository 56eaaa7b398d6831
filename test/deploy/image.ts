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

/** What `docker build` would have put into the image, as a folder, and what runs in it. */
export interface Image {
  folder: string;
  /** Runs a command as in a container: nothing can be written but /tmp and the volume. */
  run(command: readonly string[], env: Record<string, string>): Running;
  /** The same where the image's own files can be written, as while it is built. */
  build(command: readonly string[]): Running;
  /** Every file below the folder with its time and size, packages aside. */
  files(): string[];
  remove(): void;
}

export interface Running {
  pid: number;
  /** All that was said so far, on both channels. */
  output(): string;
  /** Its exit code, or its signal. */
  exited: Promise<number | string>;
  kill(signal: NodeJS.Signals): void;
}

export interface Instruction {
  word: string;
  rest: string;
}

/** The instructions of each stage, continuation lines joined, comments left out. */
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

/** What the last stage copies from the project, and the packages that an install without development's would leave. */
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

/** By the lock file, like `npm ci --omit=dev`; those of other systems are not there. */
function productionPackages(): string[] {
  const { packages } = Lock.parse(JSON.parse(readFileSync(join(projectFolder, 'package-lock.json'), 'utf8')));
  return Object.entries(packages)
    .filter(([path, { dev }]) => /^node_modules\/(@[^/]+\/)?[^/]+$/.test(path) && dev !== true)
    .map(([path]) => path.slice('node_modules/'.length))
    .filter((name) => existsSync(join(projectFolder, 'node_modules', name)));
}

// Folders that every Linux has; what they hold is covered in the namespace of the one process.
const imageInside = '/mnt';
const volumeInside = '/media';
const packagesAside = '/srv';
const enter = [
  `mount --bind "$1/app" ${imageInside}`,
  `mount --bind "$1/volume" ${volumeInside}`,
  // The packages that the image's links lead to, Node's own binary among them: the project may lie below /tmp.
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

/** In a mount namespace of its own whose root is read-only, by the same process id. */
const wrapped = (root: string, command: readonly string[]): string[] => [
  ...['unshare', '--mount', '--propagation', 'private', 'sh', '-c', enter, 'sh', root, packages],
  ...command,
];

/** Whether this machine lets us make one. Elsewhere the test still sees that no file has changed. */
function canContain(root: string): boolean {
  const script = `require('node:fs').statSync('src'); try { require('node:fs').writeFileSync('x', '') } catch { process.exit(7) }`;
  const [program = '', ...args] = wrapped(root, ['node', '-e', script]);
  return spawnSync(program, args, { env: { PATH: path }, timeout: 10_000 }).status === 7;
}

// The folder of Node itself: beside it are no commands of packages.
const path = `${dirname(process.execPath)}:/usr/bin:/bin:/usr/sbin:/sbin`;
const outputMaxChars = 1_000_000;

function start(command: readonly string[], env: Record<string, string>, cwd = '/'): Running {
  const [program = '', ...args] = command;
  const child = spawn(program, args, { cwd, env: { ...env, PATH: path }, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      if (said.length < outputMaxChars) said += text;
    });
  }
  const exited = new Promise<number | string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) => resolve(signal ?? code ?? 'gone'));
  });
  return { pid: child.pid ?? 0, output: () => said, exited, kill: (signal) => void child.kill(signal) };
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((file) => `${file} ${statSync(file).size} ${statSync(file).mtimeMs}`)
    .sort();
}
