import { findDebianProgram, runProgram } from './debian-program.ts';

/** Runs Prometheus' promtool. */
export function promtool(...args: string[]): { status: number | null; output: string } {
  const program = findDebianProgram('promtool', 'prometheus');
  if (program === null) throw new Error('promtool is missing: install the package `prometheus`');
  return runProgram(program, args);
}
