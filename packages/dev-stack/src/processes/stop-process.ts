import { setTimeout as sleep } from 'node:timers/promises';
import { processStart } from './process-identity.ts';

export interface StopOrder {
  pid: number;
  /** The result of `processStart` for this process. Another process with the same id is left alone. */
  start: string;
  signal: 'SIGINT' | 'SIGTERM';
  graceSeconds: number;
}

/** Sends the signal, waits `graceSeconds`, then kills. Resolves when the process has ended, also if it had ended before. */
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
