import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Dev } from './dev.ts';
import type { Program } from './programs.ts';
import type { Recorded, Recorder } from './recorder.ts';

/** What became of one program with one model. */
export interface Result {
  program: string;
  family: string;
  /** `works`, or why it does not. */
  outcome: string;
}

/** Where and with which model a program runs. */
export interface Run {
  dev: Dev;
  recorder: Recorder;
  bin: string;
  home: string;
  model: string;
}

const TASK_SECONDS = 120;
/** Two calls of a tool, with a turn of the model before, between and after them. */
const TURNS = 3;

/**
 * Lets a program do one task of three turns. Returns its requests, and `works` or why it does not: it ended with an error, the gateway refused one
 * of its requests, or the provider was not called once for each turn with the results of all calls before.
 */
export async function runProgram(
  program: Program,
  { dev, recorder, bin, home, model }: Run,
): Promise<{ outcome: string; requests: Recorded[] }> {
  const mark = `task-${Math.random().toString(36).slice(2, 10)}`;
  const script = program.tool
    ? `[[tool=${program.tool.name} calls=${TURNS - 1} args=${JSON.stringify(program.tool.args)}]]`
    : '';
  const input = { baseUrl: recorder.baseUrl, apiKey: dev.apiKey, home, model, prompt: `${mark} ${script}` };
  const { env, args } = program.setUp(input);
  recorder.take();
  const { code, output } = await run(bin, args, { env, home });
  const ended = { code, output, requests: recorder.take(), hits: await hitsOf(dev, mark) };
  return { outcome: outcomeOf(program, ended), requests: ended.requests };
}

interface Ended {
  code: number;
  output: string;
  requests: Recorded[];
  hits: readonly Hit[];
}

function outcomeOf(program: Program, { code, output, requests, hits }: Ended): string {
  const refused = requests.find(({ path, status }) => status >= 400 && isApi(path));
  if (refused) return `${refused.path} was answered ${refused.status}`;
  if (code !== 0) return `exit code ${code}: ${output.trim().split('\n').at(-1) ?? ''}`.slice(0, 200);
  const turns = program.tool ? TURNS : 1;
  if (hits.length < turns) return `${hits.length} of ${turns} turns reached the provider`;
  const results = Math.max(...hits.map((hit) => hit.results ?? 0));
  return results < turns - 1 ? `${results} of ${turns - 1} results of tools reached the provider` : 'works';
}

/** Programs also look for services that no gateway has, such as their vendor's settings. */
const isApi = (path: string): boolean => /^\/v1(beta\d?)?\/(chat\/completions|responses|messages|models)\b/.test(path);

interface Hit {
  results?: number;
}

async function hitsOf(dev: Dev, mark: string): Promise<Hit[]> {
  const response = await fetch(`${dev.sandboxUrl}/_sandbox/hits?contains=${mark}&kind=chat`);
  return (await response.json()) as Hit[];
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
