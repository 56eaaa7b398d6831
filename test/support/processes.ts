import { readdirSync, readFileSync } from 'node:fs';

/** The image decoders that `pid` has started and that still run. */
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

/** The connections that a server on this IPv4 port holds. Of a process's sockets only these are its clients': the others come and go. */
export function connectionsTo(port: number): number {
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const [, ...rows] = readFileSync('/proc/net/tcp', 'utf8').trim().split('\n');
  return rows.filter((row) => {
    const [, address = '', , state = ''] = row.trim().split(/\s+/);
    return address.endsWith(local) && (state === tcpEstablished || state === tcpCloseWait);
  }).length;
}

export interface MemoryWatch {
  /** The most that a process and its decoders have held at once, less what the process held at first. */
  grownBytes(): number;
  decodersMax(): number;
  stop(): void;
}

/**
 * Looks every few milliseconds. Of a decoder only its own memory counts: the pages of its program's file are shared with its
 * parent or can be dropped at any time.
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

/** Zero for a process that is gone. */
function statusBytes(pid: number, field: string): number {
  const status = readable(() => readFileSync(`/proc/${pid}/status`, 'utf8')) ?? '';
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) * 1_024;
}

/** What is in /proc may be gone at any moment. */
function readable<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}
