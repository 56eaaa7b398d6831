import { existsSync, readFileSync, rmSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

/** The environment of an API process that counts what it allocates, for `allocatedBytes` with the same file. */
export const countingGarbage = (file: string): Record<string, string> => ({
  NODE_OPTIONS: `--import=${new URL('count-garbage.mjs', import.meta.url).href}`,
  GARBAGE_FILE: file,
});

/** What the process has allocated since the last call, in bytes; 0 at the first call. */
export async function allocatedBytes(pid: number, file: string): Promise<number> {
  rmSync(file, { force: true });
  process.kill(pid, 'SIGUSR2');
  while (!existsSync(file)) await pause(5);
  return Number(readFileSync(file, 'utf8'));
}
