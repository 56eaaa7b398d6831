import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * When the process with this id started, as an opaque word; null when no such process runs. Id and start together name one
 * process for good, because the system gives ids out again. A zombie has ended: null.
 */
export function processStart(pid: number): string | null {
  if (!Number.isSafeInteger(pid) || pid <= 0) return null;
  return process.platform === 'linux' ? startFromProc(pid) : startFromPs(pid);
}

/** The command line of a process, empty when it has ended or may not be read. */
export function processCommand(pid: number): string {
  try {
    if (process.platform === 'linux') return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
    return execFileSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8', timeout: 5_000 });
  } catch {
    return '';
  }
}

function startFromProc(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // proc(5): the name, second, stands in brackets and may hold spaces; after it the state is third, the start time 22nd.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? null : (fields[19] ?? null);
  } catch {
    return null;
  }
}

function startFromPs(pid: number): string | null {
  try {
    const [state = '', ...start] = execFileSync('ps', ['-o', 'state=,lstart=', '-p', String(pid)], {
      encoding: 'utf8',
      timeout: 5_000,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
      .trim()
      .split(/\s+/);
    return state === '' || state.startsWith('Z') ? null : start.join(' ');
  } catch {
    return null;
  }
}
