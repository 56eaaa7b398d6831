import { readRetryAfter } from './errors.ts';
import { pause, spread } from './pause.ts';
import { sendJson, type Call, type Connection } from './send.ts';
import { taskEvents, type EventOptions, type TaskEvent } from './task-events.ts';
import { isEnded, type CreateRequest, type Quote, type EndedTask, type Task, type TaskType } from './types.ts';

export interface TollgateOptions {
  /** Where the gateway is, such as `https://gateway.example.com`. */
  baseUrl: string;
  /** `sk-…`, with the scope `media`. */
  apiKey: string;
  /** How often one request is sent again after a failure that may pass; 5 by default. */
  retriesMax?: number;
  /** Instead of the global one. */
  fetch?: typeof globalThis.fetch;
}

export interface CreateOptions {
  /**
   * 1 to 255 printable ASCII characters. The same key with the same request never creates a second task, also from another process. By
   * default a new one for each call, so that only the retries of that call share it.
   */
  idempotencyKey?: string;
  /** Ends the call. A task that was created already goes on. */
  signal?: AbortSignal;
}

export interface WaitOptions {
  /** Seconds for which the gateway may hold one answer, 1 to 60; 30 by default, so that no proxy closes the connection. */
  waitSeconds?: number;
  /** Ends the wait. The task goes on. */
  signal?: AbortSignal;
}

export interface ReadOptions {
  signal?: AbortSignal;
}

/** A task, and how long to wait before it is read again. */
interface Seen {
  task: Task;
  pauseMs: number;
}

const WAIT_SECONDS = 30;
/** Between two reads of a task if the gateway holds no answer and names no time. */
const POLL_MS_MIN = 1_000;

/**
 * Creates and follows the pictures and videos of a Tollgate gateway. Requests that fail for a reason that may pass are sent again, creates with
 * the same idempotency key, so that none is bought twice. Methods throw `TollgateError` for a refusal, `TollgateConnectionError` if no
 * answer arrives, and the reason of their `signal`.
 */
export class Tollgate {
  readonly #connection: Connection;

  constructor({ baseUrl, apiKey, retriesMax = 5, fetch = globalThis.fetch }: TollgateOptions) {
    this.#connection = { baseUrl: baseUrl.replace(/\/+$/, ''), apiKey, retriesMax, fetch };
  }

  /** Creates a task and returns it as soon as it is accepted. */
  async create(type: TaskType, request: CreateRequest, options: CreateOptions = {}): Promise<Task> {
    return (await this.#create(type, request, options)).task;
  }

  /**
   * Creates a task and returns it when it has ended, as soon as the gateway says so. Look at its `status`: it may have failed. The gateway
   * holds each answer until then, and no request is sent earlier than it says.
   */
  async createAndWait(
    type: TaskType,
    request: CreateRequest,
    { waitSeconds = WAIT_SECONDS, ...options }: CreateOptions & WaitOptions = {},
  ): Promise<EndedTask> {
    const created = await this.#create(type, request, options, waitSeconds);
    // A task that has just ended was not erased, so a succeeded one has its output.
    return (await this.#untilEnded(created, waitSeconds, options.signal)) as EndedTask;
  }

  /** The task when it has ended. */
  async wait(taskId: string, { waitSeconds = WAIT_SECONDS, signal }: WaitOptions = {}): Promise<Task> {
    return this.#untilEnded(await this.#read(taskId, waitSeconds, signal), waitSeconds, signal);
  }

  /** The task as it is. */
  async retrieve(taskId: string, { signal }: ReadOptions = {}): Promise<Task> {
    return (await this.#read(taskId, 0, signal)).task;
  }

  /** The task now and after each of its changes. Ends with the task, and connects again after a lost connection. */
  events(taskId: string, options: EventOptions = {}): AsyncGenerator<TaskEvent, void, undefined> {
    return taskEvents(this.#connection, taskId, options);
  }

  /** The canceled task. A job that cannot be stopped goes on: `task_not_cancelable`. */
  async cancel(taskId: string, { signal }: ReadOptions = {}): Promise<Task> {
    const path = `/api/v1/tasks/${encodeURIComponent(taskId)}/cancel`;
    return (await this.#poll({ method: 'POST', path, signal })).task;
  }

  /** What a create would cost. Nothing is created or held. */
  async quote(type: TaskType, request: CreateRequest, { signal }: ReadOptions = {}): Promise<Quote> {
    const body = { ...request, dry_run: true };
    return (await sendJson(this.#connection, { method: 'POST', path: createPaths[type], body, signal })).body as Quote;
  }

  #create(
    type: TaskType,
    request: CreateRequest,
    { idempotencyKey = newIdempotencyKey(), signal }: CreateOptions,
    waitSeconds = 0,
  ): Promise<Seen> {
    const headers = { 'idempotency-key': idempotencyKey };
    return this.#poll({ method: 'POST', path: createPaths[type], body: request, headers, signal }, waitSeconds);
  }

  #read(taskId: string, waitSeconds: number, signal: AbortSignal | undefined): Promise<Seen> {
    return this.#poll({ method: 'GET', path: `/api/v1/tasks/${encodeURIComponent(taskId)}`, signal }, waitSeconds);
  }

  async #poll({ path, ...call }: Call, waitSeconds = 0): Promise<Seen> {
    const sentAt = Date.now();
    const query = waitSeconds > 0 ? `?wait=${waitSeconds}` : '';
    const { body, headers } = await sendJson(this.#connection, { ...call, path: path + query }, waitSeconds * 1_000);
    const retryAfterSeconds = readRetryAfter(headers);
    const heldMs = Date.now() - sentAt;
    return {
      task: body as Task,
      pauseMs: retryAfterSeconds === null ? Math.max(0, POLL_MS_MIN - heldMs) : retryAfterSeconds * 1_000,
    };
  }

  async #untilEnded(first: Seen, waitSeconds: number, signal: AbortSignal | undefined): Promise<Task> {
    let seen = first;
    while (!isEnded(seen.task)) {
      await pause(spread(seen.pauseMs), signal);
      seen = await this.#read(seen.task.task_id, waitSeconds, signal);
    }
    return seen.task;
  }
}

const createPaths = { image: '/api/v1/images/generate', video: '/api/v1/video/generate' } satisfies Record<
  TaskType,
  string
>;

/** 128 random bits. `crypto.randomUUID` is missing on pages without https. */
const newIdempotencyKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
