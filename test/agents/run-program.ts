import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Dev } from './dev.ts';
import type { Program } from './programs.ts';

/** What became of one program with one model. */
export interface Result {
  program: string;
  family: string;
  /** `works`, or why it does not. */
  outcome: string;
}

const TASK_SECONDS = 120;
/** Two calls of a tool, with a turn of the model before, between and after them. */
const TURNS = 3;

/**
 * Lets a program do one task of three turns. Returns `works`, or why it does not: it ended with an error, the gateway refused one of its
 * requests, or the provider was not called once for each turn.
 */
export async function runProgram(
  program: Program,
  { dev, bin, home, model }: { dev: Dev; bin: string; home: string; model: string },
): Promise<string> {
  const mark = `task-${Math.random().toString(36).slice(2, 10)}`;
  const script = program.tool
    ? `[[tool=${program.tool.name} calls=${TURNS - 1} args=${JSON.stringify(program.tool.args)}]]`
    : '';
  const place = { baseUrl: dev.baseUrl, apiKey: dev.apiKey, home, model, prompt: `${mark} ${script}` };
  const { env, args } = program.setUp(place);
  dev.requests();
  const { code, output } = await run(bin, args, { env, home });
  const refused = dev.requests().filter(({ path, status }) => status >= 400 && path !== 'unmatched');
  const hits = await turnsOf(dev, mark);
  const [first] = refused;
  if (first) return `${first.path} was answered ${first.status}`;
  if (code !== 0) return `exit code ${code}: ${output.trim().split('\n').at(-1) ?? ''}`.slice(0, 200);
  const turns = program.tool ? TURNS : 1;
  return hits < turns ? `${hits} of ${turns} turns reached the provider` : 'works';
}

async function turnsOf(dev: Dev, mark: string): Promise<number> {
  const response = await fetch(`${dev.sandboxUrl}/_sandbox/hits?contains=${mark}`);
  return ((await response.json()) as unknown[]).length;
}

function run(
  bin: string,
  args: readonly string[],
  { env, home }: { env: Record<string, string>; home: string },
): Promise<{ code: number; output: string }> {
  // Of the environment only what a program needs to start: no keys of other services.
  const { PATH = '', LANG = 'C.UTF-8' } = process.env;
  const own = join(process.cwd(), 'node_modules', '.bin');
  const child = spawn(bin, args, {
    cwd: home,
    env: { PATH: `${own}:${PATH}`, LANG, HOME: home, CI: '1', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: TASK_SECONDS * 1_000,
    killSignal: 'SIGKILL',
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += String(data)));
  return new Promise((resolve) => {
    child.once('error', (error) => resolve({ code: -1, output: error.message }));
    child.once('close', (code) => resolve({ code: code ?? -1, output }));
  });
}
