import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { hasEnded, mediaRoutes } from '../support/api-client.ts';
import type { Gateway, TestProject } from '../support/gateway.ts';
import { nodeBinary, projectFolder } from '../support/program.ts';
import type { GreedyRequest, GreedySeen } from './greedy-callers.ts';
import type { Kind, Plan, Seen } from './slow-clients.ts';

export interface Attackers<Seen> {
  /** What they saw a second ago at most. */
  seen(): Seen;
  stop(): Promise<void>;
}

const none = (): Seen => ({ open: 0, openMax: 0, ended: {} });

/** Starts slow clients. */
export const startSlowClients = (plan: Plan): Attackers<Record<Kind, Seen>> =>
  startAttackers('slow-clients', [JSON.stringify(plan)], { uploads: none(), bodies: none(), readers: none() });

/** Sends so many requests a second, each with another key that does not exist. Shows the number of answers of each status. */
export const startKeyGuesses = (baseUrl: string, perSecond: number): Attackers<Record<number, number>> =>
  startAttackers('key-guesses', [baseUrl, String(perSecond)], {});

/** Starts so many callers of each request, which repeat it. */
export const startGreedyCallers = (requests: readonly GreedyRequest[], callers: number): Attackers<GreedySeen> =>
  startAttackers('greedy-callers', [JSON.stringify({ requests, callers })], {});

/** Starts a program of this folder, in a process of its own, so that its work does not delay this one. */
function startAttackers<Seen>(name: string, args: string[], nothing: Seen): Attackers<Seen> {
  const program = fileURLToPath(new URL(`./${name}.ts`, import.meta.url));
  const child = spawn(nodeBinary, ['--disable-warning=ExperimentalWarning', program, ...args], {
    cwd: projectFolder,
    env: {},
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  let seen = nothing;
  createInterface({ input: child.stdout }).on('line', (line) => {
    seen = JSON.parse(line) as Seen;
  });
  return {
    seen: () => seen,
    async stop() {
      child.stdin.end();
      await exited;
    },
  };
}

export type Action = 'chat' | 'create' | 'poll' | 'download';
/** The milliseconds of each successful action. */
export type Times = Record<Action, number[]>;

interface Work {
  project: TestProject;
  /** A file of the project. */
  fileUrl: string;
  /** How many clients it has. */
  clients: number;
  /** Ends the work. Each client finishes its round, and makes at least one. */
  isOver: () => boolean;
  /** The pause of a client between its rounds. 0 by default. */
  pauseMs?: number;
}

/** A project at work: each of its clients chats, creates a picture, polls it to its end and downloads a file. Throws at any other answer. */
export async function workUntil(gateway: Gateway, work: Work): Promise<Times> {
  const { project, fileUrl, clients, isOver, pauseMs = 0 } = work;
  const times: Times = { chat: [], create: [], poll: [], download: [] };
  const timed = async <T>(action: Action, status: number, act: () => Promise<T & { status: number }>): Promise<T> => {
    const began = performance.now();
    const answer = await act();
    if (answer.status !== status) throw new Error(`${action}: ${answer.status} ${JSON.stringify(answer)}`);
    times[action].push(performance.now() - began);
    return answer;
  };
  const { apiKey } = project;
  const chat = { model: 'gpt-5-mini', messages: [{ role: 'user', content: 'Hello' }] };
  const picture = { model: 'aurora-image-1', prompt: 'a red fox [[latency=100]]' };
  const client = async (): Promise<void> => {
    do {
      await timed('chat', 200, () => gateway.create(apiKey, '/api/v1/chat/completions', chat));
      const { taskId } = await timed('create', 202, () => gateway.create(apiKey, mediaRoutes.image, picture));
      await gateway.poll(apiKey, taskId, {
        until: (task) => {
          if (task.status === 'failed') throw new Error(`the picture failed: ${JSON.stringify(task.error)}`);
          return hasEnded(task);
        },
      });
      await timed('poll', 200, () => gateway.get(apiKey, `/api/v1/tasks/${taskId}`));
      await timed('download', 200, async () => {
        const answer = await fetch(fileUrl, { signal: AbortSignal.timeout(120_000) });
        return { status: answer.status, bytes: (await answer.arrayBuffer()).byteLength };
      });
      await sleep(pauseMs);
    } while (!isOver());
  };
  await Promise.all(Array.from({ length: clients }, client));
  return times;
}

export const p95 = (times: readonly number[]): number =>
  times.toSorted((left, right) => left - right)[Math.ceil(times.length * 0.95) - 1] ?? NaN;
