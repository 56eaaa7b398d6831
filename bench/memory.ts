import { readFileSync } from 'node:fs';
import { childrenOf } from './cpu-seconds.ts';

/** The memory of a process and its children in MB, in which shared pages count in parts. Linux only. */
export const memoryMb = (pid: number): number =>
  [pid, ...childrenOf(pid)].reduce((sum, each) => sum + kilobytes(`/proc/${each}/smaps_rollup`, 'Pss') / 1_024, 0);

/** The most memory that a process has had in MB. */
export const peakMemoryMb = (pid: number): number => kilobytes(`/proc/${pid}/status`, 'VmHWM') / 1_024;

function kilobytes(file: string, field: string): number {
  try {
    return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(readFileSync(file, 'utf8'))?.[1] ?? 0);
  } catch {
    return 0;
  }
}
