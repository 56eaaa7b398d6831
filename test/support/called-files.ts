import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';

/** The environment of processes that note which files of `src` they call, for `calledFiles` with the same folder. */
export const notingFiles = (folder: string): Record<string, string> => ({
  NODE_OPTIONS: `--import=${new URL('note-files.mjs', import.meta.url).href}`,
  CALLED_FOLDER: folder,
});

/** The files of `src` in which the process has called a function since the last call. */
export async function calledFiles(folder: string, pid: number): Promise<string[]> {
  const file = join(folder, String(pid));
  rmSync(file, { force: true });
  process.kill(pid, 'SIGUSR2');
  while (!existsSync(file)) await pause(5);
  return z.array(z.string()).parse(JSON.parse(readFileSync(file, 'utf8')));
}
