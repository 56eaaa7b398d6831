import { spawn } from 'node:child_process';
import { chmodSync, closeSync, existsSync, openSync, readSync, renameSync, statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunningChild } from '../../../../src/main/processes/supervisor.ts';
import { processStart } from './process-identity.ts';
import type { Guardian } from './start-guardian.ts';
import { stopProcess } from './stop-process.ts';

export interface LaunchOptions {
  command: string;
  args: readonly string[];
  env: Record<string, string | undefined>;
  cwd?: string;
  /** The file that its output is appended to, mode 0600. Without it the output is dropped. */
  logFile?: string;
  /** Gets each line of its standard output, or its first 65,536 characters. They are not logged then, because they may have a key. */
  onLine?: (line: string) => void;
  stopSignal: 'SIGINT' | 'SIGTERM';
  graceSeconds: number;
  /** Stops the process if this one dies. A higher rank is stopped earlier. */
  guardian?: Guardian;
  rank?: number;
}

/** A started child process. */
export interface LaunchedProcess extends RunningChild {
  hasExited(): boolean;
  /** Sends its stop signal and kills it after its grace. Resolves when it has ended. */
  stop(): Promise<void>;
  /** The last lines of its log since its start. */
  logTail(): string;
}

/**
 * Starts a program in its own session, so that Ctrl-C in the terminal reaches only this process, which stops its children in order.
 * Rejects if the program cannot be started.
 */
export async function launch(options: LaunchOptions): Promise<LaunchedProcess> {
  const { command, args, env, cwd, logFile, onLine, stopSignal, graceSeconds, guardian, rank = 0 } = options;
  const log = logFile === undefined ? null : openLog(logFile);
  const logStart = logFile === undefined ? 0 : statSync(logFile).size;
  const child = spawn(command, [...args], {
    env,
    cwd,
    detached: true,
    stdio: ['ignore', onLine ? 'pipe' : (log ?? 'ignore'), log ?? 'ignore'],
  });
  if (log !== null) closeSync(log);
  let ended = false;
  const exited = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => {
      ended = true;
      if (child.pid !== undefined) guardian?.forget(child.pid);
      resolve(signal === null ? `ended with code ${code ?? 1}` : `was ended by ${signal}`);
    });
  });
  if (onLine && child.stdout) splitLines(child.stdout, onLine);
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('spawn', resolve);
  });
  const { pid } = child;
  // A signal to the process 0 would go to the group of this one.
  if (pid === undefined) throw new Error(`${command} was started without a process id`);
  const start = processStart(pid);
  if (guardian && !guardian.watch(pid, { signal: stopSignal, graceSeconds, rank })) {
    // Not killed, because PostgreSQL would leave its lock file behind.
    if (start !== null) await stopProcess({ pid, start, signal: stopSignal, graceSeconds });
    throw new Error('no process is started during a stop');
  }
  return {
    pid,
    exited,
    hasExited: () => ended,
    async stop() {
      if (ended || start === null) return;
      await stopProcess({ pid, start, signal: stopSignal, graceSeconds });
      await exited;
    },
    logTail: () => (logFile === undefined ? '' : tail(logFile, logStart)),
  };
}

/**
 * Calls `answers` every 100 ms until it resolves while the server runs, and returns null then. If the server ends, or has not answered
 * at `until` (milliseconds), returns the reason with the end of its log.
 */
export async function untilReady(
  server: LaunchedProcess,
  until: number,
  answers: () => Promise<unknown>,
): Promise<string | null> {
  let last = '';
  while (Date.now() < until) {
    if (server.hasExited()) return `it ${await server.exited}\n${server.logTail()}`;
    try {
      await answers();
      if (!server.hasExited()) return null;
    } catch (error) {
      last = error instanceof Error ? error.message : String(error);
    }
    await sleep(100);
  }
  return `${last}\n${server.logTail()}`;
}

const logBytesMax = 10_000_000;
/** In characters. */
const lineLengthMax = 65_536;

function openLog(path: string): number {
  // One old file is kept, so that both together are bounded by the output of two runs.
  if (existsSync(path) && statSync(path).size > logBytesMax) renameSync(path, `${path}.1`);
  const file = openSync(path, 'a', 0o600);
  chmodSync(path, 0o600);
  return file;
}

/** Passes each line on, also a last one without its end. Of a line beyond the limit the beginning is passed on. */
function splitLines(stream: NodeJS.ReadableStream, onLine: (line: string) => void): void {
  let line = '';
  stream.setEncoding('utf8');
  stream.on('error', () => {});
  stream.on('data', (chunk: string) => {
    const [rest = '', ...others] = chunk.split('\n');
    line = (line + rest).slice(0, lineLengthMax);
    for (const next of others) {
      onLine(line);
      line = next.slice(0, lineLengthMax);
    }
  });
  stream.on('end', () => {
    if (line !== '') onLine(line);
  });
}

function tail(path: string, from: number): string {
  const size = statSync(path).size;
  const begin = Math.max(Math.min(from, size), size - 8_000);
  const buffer = Buffer.alloc(Math.max(size - begin, 0));
  const file = openSync(path, 'r');
  try {
    readSync(file, buffer, 0, buffer.length, begin);
  } finally {
    closeSync(file);
  }
  const lines = buffer.toString('utf8').trim().split('\n').slice(-12);
  return lines.map((line) => (line.length > 400 ? `${line.slice(0, 400)}…` : line)).join('\n');
}
