import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Program } from './programs.ts';

/** Installs a program into the cache, unless it is there, and returns the path of its command; null if it cannot be installed. */
export function install(
  { package: { registry, name, version, bin } }: Program,
  { cache, isLatest }: { cache: string; isLatest: boolean },
): string | null {
  const folder = join(cache, `${name.replaceAll(/\W/g, '-')}-${isLatest ? 'latest' : version}`);
  const command = registry === 'npm' ? join(folder, 'node_modules', '.bin', bin) : join(folder, 'bin', bin);
  if (existsSync(command) && !isLatest) return command;
  mkdirSync(folder, { recursive: true });
  process.stdout.write(`installing ${name} …\n`);
  const steps =
    registry === 'npm'
      ? [['npm', 'install', '--prefix', folder, '--no-audit', '--no-fund', `${name}@${isLatest ? 'latest' : version}`]]
      : [
          ['python3', '-m', 'venv', folder],
          [
            join(folder, 'bin', 'pip'),
            'install',
            '--quiet',
            ...(isLatest ? ['--upgrade', name] : [`${name}==${version}`]),
          ],
        ];
  for (const [file = '', ...args] of steps) {
    if (spawnSync(file, args, { stdio: 'ignore', timeout: 600_000 }).status !== 0) return null;
  }
  return existsSync(command) ? command : null;
}
