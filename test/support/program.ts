import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { nodeFlagsOf } from '../../packages/dev-stack/src/node-flags.ts';

/** One of our own programs, running as a process of its own. */
export interface Program {
  pid: number;
  /** Where it listens, null for one that listens nowhere. */
  listening: string | null;
  /** Resolves once it has ended, with its code or signal. */
  exited: Promise<string>;
  kill(signal: NodeJS.Signals): void;
  /** Asks it to end, kills it after five seconds, and waits until it is gone. */
  stop(): Promise<void>;
}

interface ProgramOptions {
  /** A file of `src/main` without `.ts`, or `sandbox`. */
  name: string;
  env: Record<string, string>;
  logFile: string;
  /** With the options of Node in production, for a test of its memory: without threads V8 keeps hundreds of megabytes that it has freed. */
  asInProduction?: boolean;
  /** Of another release. Its programs take the fixed numbers of this one from the environment, as settings. */
  folder?: string;
}

const fileOf = (name: string): string => (name === 'sandbox' ? 'packages/sandbox/src/main.ts' : `src/main/${name}.ts`);

/**
 * Starts a program of `src/main`, or the sandbox, and waits for its ready line. It dies with us, for it watches the other end of its standard
 * input. Rejects, with it gone, when it is not ready within two and a half minutes.
 */
export async function startProgram({
  name,
  env,
  logFile,
  asInProduction,
  folder = projectFolder,
}: ProgramOptions): Promise<Program> {
  const log = openSync(logFile, 'a');
  const flags = [
    ...nodeFlagsOf(name),
    ...(asInProduction ? [] : briefFlags()),
    ...(folder === projectFolder ? tuneFlags(name) : []),
  ];
  const child = spawn(nodeBinary, [...flags, fileOf(name)], {
    cwd: folder,
    env: { ...compileCache(), ...env, TOLLGATE_PARENT_PIPE: '1' },
    stdio: ['pipe', 'pipe', log],
  });
  closeSync(log);
  const { stdin, stdout } = child;
  if (!stdin || !stdout) throw new Error(`${name} has no pipes`);
  // It may be gone while we still hold its standard input.
  stdin.on('error', () => undefined);
  const exited = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(`could not be started: ${error.message}`));
    child.once('exit', (code, signal) => resolve(signal ?? `code ${code}`));
  });
  const hasExited = () => child.exitCode !== null || child.signalCode !== null || child.pid === undefined;
  const stop = async (): Promise<void> => {
    if (!hasExited()) child.kill('SIGTERM');
    const limit = setTimeout(() => child.kill('SIGKILL'), graceMs);
    await exited;
    clearTimeout(limit);
    stdin.destroy();
  };

  const ready = Promise.withResolvers<string | null>();
  const limit = setTimeout(() => ready.reject(new Error(`was not ready within ${readyMs / 1_000} s`)), readyMs);
  void exited.then((how) => ready.reject(new Error(`ended before it was ready: ${how}`)));
  createInterface({ input: stdout }).on('line', (line) => {
    const listening = readReadyLine(line);
    if (listening !== undefined) ready.resolve(listening);
  });
  try {
    const listening = await ready.promise;
    return { pid: child.pid ?? 0, listening, exited, kill: (signal) => child.kill(signal), stop };
  } catch (cause) {
    await stop();
    throw new Error(`${name} ${String(cause)}\n${tailOf(logFile)}`, { cause });
  } finally {
    clearTimeout(limit);
  }
}

/**
 * For a process of a test run, which lives for seconds: V8 spends a sixth of its CPU time on a young generation that begins with 1 MB, and
 * on threads that collect it together. A benchmark starts the programs as production does.
 */
const briefFlags = (): string[] =>
  process.env['TEST_COMPILE_CACHE'] === undefined ? [] : ['--min-semi-space-size=8', '--single-threaded-gc'];

/** So that `env` sets the fixed numbers of the configuration too. */
const tuneFlags = (name: string): string[] => (name === 'sandbox' ? [] : ['--import=./test/support/tune.ts']);

export const projectFolder = fileURLToPath(new URL('../../', import.meta.url));
export const nodeBinary = fileURLToPath(new URL('../../node_modules/.bin/node', import.meta.url));

/** The variable for a process of our programs. A run starts them some hundred times, and a third of each start is compiling. */
export const compileCache = (): Record<string, string> => {
  const folder = process.env['TEST_COMPILE_CACHE'];
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: folder };
};

const readyMs = 150_000;
const graceMs = 5_000;

/** The address that a ready line names, undefined for another line: the log goes to standard output too. */
function readReadyLine(line: string): string | null | undefined {
  try {
    const message: unknown = JSON.parse(line);
    if (typeof message !== 'object' || message === null || !('listening' in message)) return undefined;
    return typeof message.listening === 'string' ? message.listening : null;
  } catch {
    return undefined;
  }
}

const tailOf = (file: string): string => readFileSync(file, 'utf8').trim().split('\n').slice(-12).join('\n');
