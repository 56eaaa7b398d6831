import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { projectFolder } from '../support/program.ts';

const cache = join(projectFolder, 'node_modules', '.cache', 'tollgate');

/**
 * The path of a program of Debian: the installed one, else that of its package, which is downloaded and unpacked without installing it.
 * Null where neither is there, as on another system.
 */
export function findDebianProgram(name: string, packageName = name): string | null {
  if (spawnSync(name, ['--version']).status === 0) return name;
  const folder = join(cache, packageName);
  const unpacked = join(folder, 'usr', 'bin', name);
  if (existsSync(unpacked)) return unpacked;
  mkdirSync(cache, { recursive: true });
  // Test files that run at the same time each unpack it, and the first puts it in its place.
  const unfinished = mkdtempSync(`${folder}.`);
  try {
    const download = () => spawnSync('apt-get', ['download', packageName], { cwd: unfinished }).status === 0;
    // The lists of a fresh machine are missing or old.
    const isThere = download() || (updateLists() && download());
    const archive = readdirSync(unfinished).find((file) => file.endsWith('.deb'));
    if (!isThere || archive === undefined) return null;
    if (spawnSync('dpkg', ['-x', archive, '.'], { cwd: unfinished }).status !== 0) return null;
    if (!existsSync(unpacked)) moveUnlessThere(unfinished, folder);
    return existsSync(unpacked) ? unpacked : null;
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

/** True if the lists are new. Another test file may be renewing them: apt-get refuses to wait for it. */
function updateLists(): boolean {
  for (let tries = 1; ; tries++) {
    const { status, stderr } = spawnSync('apt-get', ['update'], { env: { ...process.env, LC_ALL: 'C' } });
    if (status === 0 || tries === 100 || !String(stderr).includes('Could not get lock')) return status === 0;
    spawnSync('sleep', ['1']);
  }
}

function moveUnlessThere(unfinished: string, folder: string): void {
  try {
    renameSync(unfinished, folder);
  } catch {
    // Another was faster.
  }
}

/** Runs a program, with both of its outputs in one text. */
export function runProgram(program: string, args: readonly string[]): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  return { status, output: stdout + stderr };
}
