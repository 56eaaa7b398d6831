import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { hash } from 'node:crypto';
import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cacheFolder } from '../../scripts/find-temporal.mjs';

const fileOf = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const requirements = fileOf('python/requirements.txt');

/** Why no client for Python can run here, or null. */
export function whyNoPython(): string | null {
  const { status } = spawnSync('python3', ['-m', 'pip', '--version']);
  return status === 0 ? null : 'this needs python3 with pip';
}

/** Runs a program of the folder `python` with its packages, gives it the input as JSON and returns what it prints, parsed. */
export async function runPython(name: string, input: object): Promise<unknown> {
  const packages = await installedPackages();
  const env = { PATH: process.env['PATH'] ?? '', PYTHONPATH: packages };
  return JSON.parse(await run([fileOf(`python/${name}`)], { input: JSON.stringify(input), env }));
}

/** Runs these lines with the packages, as a person pastes them, and returns what they print. */
export async function runPythonLines(lines: string): Promise<string> {
  const env = { PATH: process.env['PATH'] ?? '', PYTHONPATH: await installedPackages() };
  return run(['-'], { input: lines, env });
}

/**
 * Installs the packages once for each list of them and each version of Python, in a folder of its own, because the machine's own must
 * stay as they are. The folder is in the user's cache, because each clone would spend many seconds of CPU time on the same packages.
 */
async function installedPackages(): Promise<string> {
  const list = await readFile(requirements, 'utf8');
  const version = spawnSync('python3', ['--version'], { encoding: 'utf8' }).stdout;
  const cache = cacheFolder(process.env);
  const folder = join(cache, `python-${hash('sha1', list + version).slice(0, 12)}`);
  if (existsSync(folder)) return folder;
  await mkdir(cache, { recursive: true });
  const unfinished = `${folder}.${process.pid}`;
  try {
    // Without `--no-compile` pip compiles all modules of the packages, of which few are imported.
    const options = ['--quiet', '--disable-pip-version-check', '--no-input', '--no-compile'];
    await run(['-m', 'pip', 'install', ...options, '--target', unfinished, '--requirement', requirements], {
      env: process.env,
    });
    await rename(unfinished, folder).catch((error: unknown) => {
      // Another test file installed them at the same time and was faster.
      if (!existsSync(folder)) throw error;
    });
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
  return folder;
}

function run(args: string[], { input = '', env }: { input?: string; env: NodeJS.ProcessEnv }): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn('python3', args, { env });
    const output = { out: '', err: '' };
    child.stdout.on('data', (bytes: Buffer) => (output.out += bytes.toString()));
    child.stderr.on('data', (bytes: Buffer) => (output.err += bytes.toString()));
    child.on('error', reject);
    child.on('close', (code) =>
      code === 0 ? resolve(output.out) : reject(new Error(`python3 exited with ${code}: ${output.err.slice(-2_000)}`)),
    );
    child.stdin.end(input);
  });
}
