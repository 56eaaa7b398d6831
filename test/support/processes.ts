import { readdirSync, readFileSync } from 'node:fs';

/** The ids of the running image decoders that the process `pid` has started. */
export function decodersOf(pid: number): number[] {
  const threads = readable(() => readdirSync(`/proc/${pid}/task`)) ?? [];
  const children = threads.flatMap((thread) => {
    const line = readable(() => readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8')) ?? '';
    return line.split(' ').filter(Boolean).map(Number);
  });
  return children.filter((child) =>
    readable(() => readFileSync(`/proc/${child}/cmdline`, 'utf8'))?.includes('decode-image-process'),
  );
}

const tcpEstablished = '01';
const tcpCloseWait = '08';

/** The number of client connections of the server on this IPv4 port. Other sockets of its process do not count. */
export function connectionsTo(port: number): number {
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const [, ...rows] = readFileSync('/proc/net/tcp', 'utf8').trim().split('\n');
  return rows.filter((row) => {
    const [, address = '', , state = ''] = row.trim().split(/\s+/);
    return address.endsWith(local) && (state === tcpEstablished || state === tcpCloseWait);
  }).length;
}

export interface MemoryWatch {
  /** The growth of a process's memory since the start, at its maximum, with the memory of its decoders. */
  grownBytes(): number;
  decodersMax(): number;
  stop(): void;
}

/**
 * Measures the memory of a process every few milliseconds. Of a decoder only the anonymous memory counts, because the pages of
 * its program file are shared with the parent or can be dropped.
 */
export function watchMemory(pid: number): MemoryWatch {
  const first = statusBytes(pid, 'VmRSS');
  let most = first;
  let decoders = 0;
  const timer = setInterval(() => {
    const running = decodersOf(pid);
    decoders = Math.max(decoders, running.length);
    const theirs = running.reduce((sum, child) => sum + statusBytes(child, 'RssAnon'), 0);
    most = Math.max(most, statusBytes(pid, 'VmRSS') + theirs);
  }, 5);
  return { grownBytes: () => most - first, decodersMax: () => decoders, stop: () => clearInterval(timer) };
}

/** Zero for a process that has ended. */
function statusBytes(pid: number, field: string): number {
  const status = readable(() => readFileSync(`/proc/${pid}/status`, 'utf8')) ?? '';
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) * 1_024;
}

/** Returns null if the process ends while `read` reads its files in /proc. */
function readable<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}
