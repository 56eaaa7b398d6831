import { readdirSync, readFileSync } from 'node:fs';

/** Linux counts CPU time in ticks of a hundredth of a second. */
const ticksPerSecond = 100;

interface ProcessTimes {
  parent: number;
  /** CPU ticks of the process itself. */
  own: number;
  /** CPU ticks of the process and of its children that have ended. */
  ticks: number;
}

function timesOf(pid: number): ProcessTimes | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The command's name may contain spaces. The fields after its closing bracket do not.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const ended = Number(fields[13]) + Number(fields[14]);
    const own = Number(fields[11]) + Number(fields[12]);
    return { parent: Number(fields[1]), own, ticks: own + ended };
  } catch {
    return null;
  }
}

/** CPU seconds that a process has used so far, without its children. Linux only. */
export const ownCpuSeconds = (pid: number): number => (timesOf(pid)?.own ?? 0) / ticksPerSecond;

/** The processes that a process has started and that still run. Linux only. */
export const childrenOf = (pid: number): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && timesOf(Number(name))?.parent === pid)
    .map(Number);

/** CPU seconds that a process and its children have used so far, those that ended included. Linux only. */
export const cpuSeconds = (pid: number): number =>
  [pid, ...childrenOf(pid)].reduce((ticks, each) => ticks + (timesOf(each)?.ticks ?? 0), 0) / ticksPerSecond;
