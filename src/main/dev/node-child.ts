import { join } from 'node:path';
import { z } from 'zod';
import { launch, type LaunchedProcess } from '../servers/launch.ts';
import type { Guardian } from '../servers/start-guardian.ts';

export interface NodeChildOptions {
  name: string;
  /** The file that Node runs. */
  script: string;
  cwd: string;
  env: Record<string, string | undefined>;
  logFolder: string;
  guardian?: Guardian;
  /** How long its own graceful stop may take. */
  graceSeconds: number;
  readySecondsMax?: number;
}

export interface ReadyChild extends LaunchedProcess {
  /** Its URL. Null for a process that does not listen. */
  listening: string | null;
}

/** Starts one of Tollgate's programs and waits for its line `{"listening": …}`. If that does not come, stops it and rejects. */
export async function startNodeChild(options: NodeChildOptions): Promise<ReadyChild> {
  const { name, readySecondsMax = 60 } = options;
  const said = Promise.withResolvers<string | null>();
  const child = await launchNode(options, (line) => {
    const ready = readLine(ReadyLine, line);
    if (ready !== null) said.resolve(ready.listening);
  });
  const limit = setTimeout(
    () => said.reject(new Error(`it was not ready after ${readySecondsMax} s`)),
    readySecondsMax * 1_000,
  );
  void child.exited.then((how) => said.reject(new Error(`it ${how}`)));
  try {
    const listening = await said.promise;
    return { ...child, listening };
  } catch (error) {
    await child.stop();
    throw new Error(failure(options, error instanceof Error ? error.message : String(error), child), { cause: error });
  } finally {
    clearTimeout(limit);
  }
  function failure(of: NodeChildOptions, what: string, process: LaunchedProcess): string {
    return `${name}: ${what}; its log is ${logFile(of)}\n${process.logTail()}`;
  }
}

/** Runs one of Tollgate's programs to its end. Returns the lines it wrote. Rejects if it fails or takes too long. */
export async function runNodeOnce(options: NodeChildOptions): Promise<string[]> {
  const { name, readySecondsMax = 120 } = options;
  const lines: string[] = [];
  const child = await launchNode(options, (line) => {
    if (lines.length < linesMax) lines.push(line);
  });
  const limit = setTimeout(() => void child.stop(), readySecondsMax * 1_000);
  const how = await child.exited;
  clearTimeout(limit);
  if (how === 'ended with code 0') return lines;
  throw new Error(`${name}: it ${how}; its log is ${logFile(options)}\n${child.logTail()}`);
}

/** The line if it has this shape, else null. */
export function readLine<T>(shape: z.ZodType<T>, line: string): T | null {
  try {
    return shape.parse(JSON.parse(line));
  } catch {
    return null;
  }
}

const ReadyLine = z.object({ listening: z.string().nullable() });
const linesMax = 1_000;

function launchNode(options: NodeChildOptions, onLine: (line: string) => void): Promise<LaunchedProcess> {
  const { script, cwd, env, guardian, graceSeconds } = options;
  return launch({
    command: process.execPath,
    args: ['--disable-warning=ExperimentalWarning', script],
    // The processes share a compile cache, which saves a third of the CPU of a warm start.
    env: { NODE_COMPILE_CACHE: join(cwd, 'node_modules', '.cache', 'tollgate', 'compiled'), ...env },
    cwd,
    logFile: logFile(options),
    onLine,
    stopSignal: 'SIGTERM',
    graceSeconds,
    guardian,
    rank: 2,
  });
}

function logFile({ logFolder, name }: Pick<NodeChildOptions, 'logFolder' | 'name'>): string {
  return join(logFolder, `${name}.log`);
}
