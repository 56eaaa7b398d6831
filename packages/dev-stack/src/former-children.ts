import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { processStart } from './processes/process-identity.ts';
import { stopProcess } from './processes/stop-process.ts';
import { readJsonFile, writePrivate } from '../../../src/main/dev-home/json-file.ts';

const Former = z.record(z.string(), z.object({ pid: z.number().int(), start: z.string() }));

/** Records which processes use this folder, for a later start that finds them without their supervisor. */
export function noteChildren(home: string, pids: Record<string, number>): void {
  const children = Object.entries(pids).flatMap(([name, pid]) => {
    const start = processStart(pid);
    return start === null ? [] : [[name, { pid, start }]];
  });
  writePrivate(file(home), Object.fromEntries(children));
}

/** Stops the processes of an earlier run. Normally there are none, unless supervisor and guardian were killed together. */
export async function stopFormerChildren(home: string): Promise<void> {
  const children = Object.entries(readJsonFile(Former, file(home)) ?? {});
  // Servers are stopped last, because the other processes use them while they stop.
  const servers = new Set(['temporal', 'postgres']);
  for (const late of [false, true]) {
    await Promise.all(
      children
        .filter(([name]) => servers.has(name) === late)
        .map(([, { pid, start }]) =>
          stopProcess({ pid, start, signal: late ? 'SIGINT' : 'SIGTERM', graceSeconds: 10 }),
        ),
    );
  }
  rmSync(file(home), { force: true });
}

const file = (home: string) => join(home, 'children.json');
