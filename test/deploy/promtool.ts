import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { projectFolder } from '../support/program.ts';

const folder = join(projectFolder, 'node_modules', '.cache', 'tollgate', 'prometheus');

/** Runs Prometheus' promtool: the installed one, else that of Debian's package, which is unpacked without installing it. */
export function promtool(...args: string[]): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(findPromtool(), args, { encoding: 'utf8' });
  return { status, output: stdout + stderr };
}

function findPromtool(): string {
  if (spawnSync('promtool', ['--version']).status === 0) return 'promtool';
  const unpacked = join(folder, 'usr', 'bin', 'promtool');
  if (existsSync(unpacked)) return unpacked;
  mkdirSync(folder, { recursive: true });
  const download = () => spawnSync('apt-get', ['download', 'prometheus'], { cwd: folder }).status === 0;
  // The lists of a fresh machine are missing or old.
  const isThere = download() || (spawnSync('apt-get', ['update']).status === 0 && download());
  const archive = readdirSync(folder).find((name) => name.endsWith('.deb'));
  if (!isThere || archive === undefined || spawnSync('dpkg', ['-x', archive, '.'], { cwd: folder }).status !== 0) {
    throw new Error('promtool is missing: install the package `prometheus`');
  }
  return unpacked;
}
