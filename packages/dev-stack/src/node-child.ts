import { join } from 'node:path';
import { z } from 'zod';
import { nodeFlagsOf } from './node-flags.ts';
import { launch, type LaunchedProcess } from './processes/launch.ts';
import type { Guardian } from './processes/start-guardian.ts';
import { parseJson } from '../../../src/main/dev-home/json-file.ts';

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

/**
 * Starts one of Tollgate's programs and waits for its line `{"listening": …}`, which has its URL, or null if it does not listen. If the
 * line does not come, stops the program and rejects.
 */
export async function startNodeChild(
  options: NodeChildOptions,
): Promise<LaunchedProcess & { listening: string | null }> {
  const { readySecondsMax = 60 } = options;
  const readiness = Promise.withResolvers<string | null>();
  const child = await launchNode(options, (line) => {
    const ready = parseJson(ReadyLine, line);
    if (ready !== null) readiness.resolve(ready.listening);
  });
  const limit = setTimeout(
    () => readiness.reject(new Error(`it was not ready after ${readySecondsMax} s`)),
    readySecondsMax * 1_000,
  );
  void child.exited.then((how) => readiness.reject(new Error(`it ${how}`)));
  try {
    const listening = await readiness.promise;
    return { ...child, listening };
  } catch (error) {
    await child.stop();
    throw failure(options, error instanceof Error ? error.message : String(error), child, error);
  } finally {
    clearTimeout(limit);
  }
}

/** Runs one of Tollgate's programs to its end. Returns the lines it wrote. Rejects if it fails or takes too long. */
export async function runNodeOnce(options: NodeChildOptions): Promise<string[]> {
  const { readySecondsMax = 120 } = options;
  const lines: string[] = [];
  const child = await launchNode(options, (line) => {
    if (lines.length < linesMax) lines.push(line);
  });
  const limit = setTimeout(() => void child.stop(), readySecondsMax * 1_000);
  const how = await child.exited;
  clearTimeout(limit);
  if (how === 'ended with code 0') return lines;
  throw failure(options, `it ${how}`, child);
}

const failure = (options: NodeChildOptions, what: string, child: LaunchedProcess, cause?: unknown) =>
  new Error(`${options.name}: ${what}; its log is ${logFile(options)}\n${child.logTail()}`, { cause });

const ReadyLine = z.object({ listening: z.string().nullable() });
const linesMax = 1_000;

function launchNode(options: NodeChildOptions, onLine: (line: string) => void): Promise<LaunchedProcess> {
  const { name, script, cwd, env, guardian, graceSeconds } = options;
  return launch({
    command: process.execPath,
    args: [...nodeFlagsOf(name), script],
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
