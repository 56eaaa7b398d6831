import { setTimeout as sleep } from 'node:timers/promises';
import { processStart } from './process-identity.ts';

export interface StopOrder {
  pid: number;
  /** What `processStart` said when it was ours; another process under the same id is left alone. */
  start: string;
  signal: 'SIGINT' | 'SIGTERM';
  graceSeconds: number;
}

/** Asks a process to end, waits `graceSeconds`, then kills it. Resolves when it is gone, also when it was gone before. */
export async function stopProcess({ pid, start, signal, graceSeconds }: StopOrder): Promise<void> {
  if (!send({ pid, start, signal })) return;
  if (await isGone({ pid, start, withinSeconds: graceSeconds })) return;
  send({ pid, start, signal: 'SIGKILL' });
  await isGone({ pid, start, withinSeconds: 10 });
}

function send({ pid, start, signal }: { pid: number; start: string; signal: NodeJS.Signals }): boolean {
  if (processStart(pid) !== start) return false;
  try {
    process.kill(pid, signal);
    return true;
  } catch {
    return false;
  }
}

async function isGone({ pid, start, withinSeconds }: { pid: number; start: string; withinSeconds: number }) {
  const until = Date.now() + withinSeconds * 1_000;
  do {
    if (processStart(pid) !== start) return true;
    await sleep(50);
  } while (Date.now() < until);
  return processStart(pid) !== start;
}
