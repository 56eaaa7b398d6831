import { spawn } from 'node:child_process';
import { chmodSync, closeSync, existsSync, openSync, readSync, renameSync, statSync } from 'node:fs';
import { processStart } from './process-identity.ts';
import type { Guardian } from './start-guardian.ts';
import { stopProcess } from './stop-process.ts';

export interface LaunchOptions {
  command: string;
  args: readonly string[];
  env: Record<string, string | undefined>;
  cwd?: string;
  /** Where its output goes, appended, mode 0600. Without it the output is dropped. */
  logFile?: string;
  /** Each whole line of its standard output, which then stays out of the log: it may hold a key. */
  onLine?: (line: string) => void;
  stopSignal: 'SIGINT' | 'SIGTERM';
  graceSeconds: number;
  /** What stops it when we die; a higher rank is stopped earlier. */
  guardian?: Guardian;
  rank?: number;
}

/** A process that we started. */
export interface LaunchedProcess {
  pid: number;
  /** Resolves once it has ended, with words for a person: "ended with code 1", "was ended by SIGKILL". Never rejects. */
  exited: Promise<string>;
  hasExited(): boolean;
  /** Asks it to end and kills it after its grace. Resolves when it is gone. */
  stop(): Promise<void>;
  /** The last lines it wrote to its log since it started. */
  logTail(): string;
}

/**
 * Starts a program in a session of its own, so that a Ctrl-C in the terminal reaches only us and we stop things in order.
 * Rejects when it cannot be started at all.
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
  const pid = child.pid ?? 0;
  const start = processStart(pid);
  if (guardian && !guardian.watch(pid, { signal: stopSignal, graceSeconds, rank })) {
    child.kill('SIGKILL');
    throw new Error('everything is being stopped');
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

const logBytesMax = 10_000_000;
const lineBytesMax = 65_536;

function openLog(path: string): number {
  // Checked whenever something starts: one old file is kept, so the two are bounded by what one run writes.
  if (existsSync(path) && statSync(path).size > logBytesMax) renameSync(path, `${path}.1`);
  const file = openSync(path, 'a', 0o600);
  chmodSync(path, 0o600);
  return file;
}

function splitLines(stream: NodeJS.ReadableStream, onLine: (line: string) => void): void {
  let rest = '';
  stream.setEncoding('utf8');
  stream.on('error', () => {});
  stream.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = (lines.pop() ?? '').slice(0, lineBytesMax);
    for (const line of lines) onLine(line);
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
