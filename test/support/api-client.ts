import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { eventually } from './eventually.ts';

export interface Answer {
  status: number;
  headers: Headers;
  /** The parsed body, `{}` if there is none. */
  body: Record<string, unknown>;
  /** The id of the task in the body, empty if there is none. */
  taskId: string;
}

export interface CreateOptions {
  headers?: Record<string, string>;
  /** The URL of another API server than the first. */
  baseUrl?: string;
}

export interface PollOptions {
  /** Ends the polling. The default is the end of the task. */
  until?: (task: Task) => boolean;
  /** The time limit, 120 s by default. At least one poll is made after it. */
  secondsMax?: number;
}

export const mediaRoutes = { image: '/api/v1/images/generate', video: '/api/v1/video/generate' } as const;

/** Sends requests to the gateway, and reads the calls that the sandbox received. */
export interface ApiClient {
  /** Sends a POST. A string is sent unchanged, any other body as JSON. */
  create(apiKey: string, route: string, body: unknown, options?: CreateOptions): Promise<Answer>;
  get(apiKey: string, path: string, options?: CreateOptions): Promise<Answer>;
  /** Creates a task, expects 202 and returns the task's id. */
  accept(apiKey: string, route: string, body: unknown, options?: CreateOptions): Promise<string>;
  /** Polls a task until it has ended, and returns it. */
  poll(apiKey: string, taskId: string, options?: PollOptions): Promise<Task>;
  /** The sandbox's calls whose prompt contains this text, oldest first. */
  hits(text: string, kind?: Hit['kind']): Promise<Hit[]>;
}

export function createApiClient({ baseUrl, sandboxUrl }: { baseUrl: string; sandboxUrl: string }): ApiClient {
  const create: ApiClient['create'] = async (apiKey, route, body, options = {}) =>
    toAnswer(
      await fetch(`${options.baseUrl ?? baseUrl}${route}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', ...options.headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
        signal: AbortSignal.timeout(answerMs),
      }),
    );
  const get: ApiClient['get'] = async (apiKey, path, options = {}) =>
    toAnswer(
      await fetch(`${options.baseUrl ?? baseUrl}${path}`, {
        headers: { authorization: `Bearer ${apiKey}`, ...options.headers },
        signal: AbortSignal.timeout(answerMs),
      }),
    );
  return {
    create,
    get,
    async accept(apiKey, route, body, options) {
      // A machine that stands still refuses a create whose credits are not decided in time, and says that it never runs.
      const answer = await eventually(
        async () => {
          const one = await create(apiKey, route, body, options);
          return one.status === 503 && one.headers.get('x-tollgate-accepted') === 'no' ? null : one;
        },
        { what: 'a create that is not refused with 503' },
      );
      if (answer.status !== 202) throw new Error(`expected 202, got ${answer.status} ${JSON.stringify(answer.body)}`);
      return answer.taskId;
    },
    async poll(apiKey, taskId, { until = hasEnded, secondsMax = 120 } = {}) {
      const begunAt = Date.now();
      const path = `/api/v1/tasks/${taskId}${until === hasEnded ? `?wait=${waitSeconds}` : ''}`;
      for (;;) {
        const elapsedMs = Date.now() - begunAt;
        const isLast = elapsedMs > secondsMax * 1_000;
        const { status, body } = await get(apiKey, path);
        // An API server or a database that restarts answers with an error, so the client polls again.
        const task = status === 200 ? Task.parse(body) : null;
        if (task && until(task)) return task;
        if (isLast) throw new Error(`waited ${secondsMax} s for ${taskId}: ${status} ${JSON.stringify(body)}`);
        await sleep(pollPauseMs(elapsedMs));
      }
    },
    async hits(text, kind) {
      const query = new URLSearchParams({ contains: text, ...(kind && { kind }) });
      const response = await fetch(`${sandboxUrl}/_sandbox/hits?${query.toString()}`, {
        signal: AbortSignal.timeout(answerMs),
      });
      return z.array(Hit).parse(await response.json());
    },
  };
}

export const hasEnded = (task: Task): boolean => ['succeeded', 'failed', 'canceled'].includes(task.status);

const answerMs = 60_000;
/** A poll that the gateway answers when the task has ended costs less CPU time than the polls of that time. */
const waitSeconds = 5;
/** A long wait is polled less often, because each poll costs CPU time that the other test files need. */
const pollPauseMs = (elapsedMs: number): number => Math.min(60 + elapsedMs / 10, 300);

/** A task in an answer. A missing field or one of another type fails the test. */
export const Task = z.object({
  task_id: z.string(),
  object: z.literal('task'),
  type: z.enum(['image', 'video']),
  model: z.string(),
  status: z.enum(['queued', 'processing', 'succeeded', 'failed', 'canceled']),
  progress: z.number().nullable(),
  created_at: z.number().int(),
  started_at: z.number().int().nullable(),
  completed_at: z.number().int().nullable(),
  expires_at: z.number().int().nullable(),
  deadline_seconds: z.number(),
  max_credits: z.number().nullable(),
  metadata: z.record(z.string(), z.string()),
  input: z.record(z.string(), z.unknown()).nullable(),
  output: z
    .array(
      z.object({
        url: z.string(),
        mime_type: z.string(),
        bytes: z.number(),
        width: z.number().nullable(),
        height: z.number().nullable(),
        duration: z.number().nullable(),
        sha256: z.string(),
        expires_at: z.number(),
      }),
    )
    .nullable(),
  error: z.object({ code: z.string(), message: z.string(), retryable: z.boolean() }).nullable(),
  credits: z.object({ quoted: z.number(), reserved: z.number(), charged: z.number(), refunded: z.number() }),
  callback: z
    .object({
      state: z.string(),
      attempts: z.number(),
      last_status: z.number().nullable(),
      next_attempt_at: z.number().nullable(),
    })
    .nullable(),
  attempts: z.number(),
  request_id: z.string(),
});
export type Task = z.infer<typeof Task>;

const Hit = z.object({
  channel: z.string(),
  family: z.string(),
  route: z.string(),
  kind: z.enum(['chat', 'submit', 'poll', 'cancel', 'fetch']),
  idempotency_key: z.string().nullable(),
  at: z.string(),
});
export type Hit = z.infer<typeof Hit>;

async function toAnswer(response: Response): Promise<Answer> {
  const text = await response.text();
  const body = Body.parse(text === '' ? {} : JSON.parse(text));
  const { task_id: taskId } = body;
  return { status: response.status, headers: response.headers, body, taskId: typeof taskId === 'string' ? taskId : '' };
}

const Body = z.record(z.string(), z.unknown());
