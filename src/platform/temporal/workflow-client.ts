import {
  Client,
  Connection,
  WithStartWorkflowOperation,
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
  type ConnectionOptions,
  type TLSConfig,
  ScheduleNotFoundError,
  type WorkflowClientInterceptor,
  type WorkflowStartOptions,
} from '@temporalio/client';
import { defineSearchAttributeKey, SearchAttributeType, TypedSearchAttributes } from '@temporalio/common';
import { readFileSync } from 'node:fs';
import type { ScheduledJobName } from '../../domain/tasks/scheduled-job.ts';
import type { JsonObject } from '../../domain/json.ts';
import type { TaskType } from '../../domain/tasks/task.ts';
import {
  collectSignal,
  mediaTaskWorkflow,
  redeliveryWorkflow,
  reservedUpdate,
  retryCallbackSignal,
  searchAttributes,
  taskQueues,
  taskSummary,
  type MediaTaskInput,
  type RedeliveryInput,
} from '../../domain/tasks/workflow-contract.ts';
import { ensureNamespace, ensureSearchAttributes } from './ensure-namespace.ts';
import { isTemporalAway, isWorkflowGone } from './temporal-errors.ts';
import { readWorkflowRecord, terminateWorkflow, type WorkflowRecord } from './workflow-record.ts';
import { ensureSchedules, triggerSchedule, type ScheduledJobSettings } from './schedules.ts';

/** The input of a workflow start: ids, and words for the Temporal UI. */
export interface WorkflowTask {
  taskId: string;
  projectId: string;
  type: TaskType;
  modelId: string;
  input: JsonObject | null;
}

/** `already_completed`: a workflow of this task has closed, so that the task has ended, unless the database lacks what Temporal knows. */
export type StartResult = 'started' | 'already_completed' | 'unreachable';

/** The gateway's client of Temporal. No method throws because Temporal is unavailable; the result says so. */
export interface WorkflowClient {
  /** Starts the task's workflow, or joins the running one, within `timeoutMs`. */
  start(task: WorkflowTask, timeoutMs: number): Promise<StartResult>;
  /** Starts the workflow of a task that is open although a workflow of it has closed. */
  startAgain(task: WorkflowTask, timeoutMs: number): Promise<StartResult>;
  /** Reads what Temporal has of a task. */
  readRecord(taskId: string, timeoutMs: number): Promise<WorkflowRecord>;
  /** Ends the running workflow of a task without a further step. False if Temporal is unavailable. */
  terminate(ended: { taskId: string; reason: string; timeoutMs: number }): Promise<boolean>;
  /** Update-with-start: the verdict of the workflow's first step, which is also in the database; null without an answer within `timeoutMs`. */
  startAndReserve(task: WorkflowTask, timeoutMs: number): Promise<{ admitted: boolean } | null>;
  /**
   * Tells the task's workflow to collect the result of its parked job, within `timeoutMs`. Starts the workflow if it is lost.
   */
  collect(task: WorkflowTask, timeoutMs: number): Promise<StartResult>;
  /** Requests the cancellation of a task's workflow, best effort and within two seconds. */
  cancel(taskId: string): Promise<boolean>;
  /** Wakes the workflow that waits to retry a callback. `gone`: no running workflow has this callback. */
  retryCallback(workflowId: string, timeoutMs: number): Promise<'signaled' | 'gone' | 'unreachable'>;
  /** Starts the workflow of a redelivery. False if Temporal is unavailable: then the sweep delivers. */
  startDelivery(delivery: RedeliveryInput, timeoutMs: number): Promise<boolean>;
  /** Triggers a job's Schedule. False if Temporal is unavailable or has no such Schedule. */
  triggerScheduledJob(name: ScheduledJobName, timeoutMs: number): Promise<boolean>;
  /**
   * Creates whatever is missing of the namespace, the search attributes and the Schedules, and keeps an operator's pause. Each part
   * is tried even if another fails. Returns the failures.
   */
  ensureServer(
    schedules: readonly ScheduledJobSettings[],
    timeoutMs: number,
  ): Promise<{ what: string; error: unknown }[]>;
  /** Whether Temporal answers within `timeoutMs`. */
  isReachable(timeoutMs: number): Promise<boolean>;
  close(): Promise<void>;
}

export interface TemporalAccess {
  address: string;
  namespace: string;
  apiKey: string;
  tls: { caFile: string; certFile: string; keyFile: string };
}

/** The common part of the client's connection and the worker's native one. */
type SharedConnectionOptions = Pick<ConnectionOptions, 'address'> & { tls?: TLSConfig; apiKey?: string };

/** How to reach Temporal: without TLS on a private network, else TLS with certificate files or an API key. */
export function temporalConnectionOptions({ address, apiKey, tls }: TemporalAccess): SharedConnectionOptions {
  const read = (file: string) => (file === '' ? undefined : readFileSync(file));
  const clientCertPair =
    tls.certFile === '' ? undefined : { crt: readFileSync(tls.certFile), key: readFileSync(tls.keyFile) };
  const serverRootCACertificate = read(tls.caFile);
  const secure = apiKey !== '' || clientCertPair !== undefined || serverRootCACertificate !== undefined;
  return {
    address,
    ...(secure && {
      tls: { ...(clientCertPair && { clientCertPair }), ...(serverRootCACertificate && { serverRootCACertificate }) },
    }),
    ...(apiKey !== '' && { apiKey }),
  };
}

/**
 * How long gRPC pauses between two connections. Its own pause grows to two minutes, so that Temporal would be back for a minute before a
 * process noticed.
 */
const reconnectPauses = { 'grpc.initial_reconnect_backoff_ms': 200, 'grpc.max_reconnect_backoff_ms': 2_000 };

/** The database has already ended the task, so neither a client nor a sweep needs to wait longer. */
const cancelTimeoutMs = 2_000;

/**
 * Connects lazily, so that the API starts and serves while Temporal is unavailable. The interceptors carry the trace of a request, where
 * traces are on.
 */
export function createWorkflowClient(
  access: TemporalAccess,
  interceptors: WorkflowClientInterceptor[] = [],
): WorkflowClient {
  const connection = Connection.lazy({ ...temporalConnectionOptions(access), channelArgs: reconnectPauses });
  const client = new Client({ connection, namespace: access.namespace, interceptors: { workflow: interceptors } });

  /** Makes a call within its time and returns `done`, or what `answerFor` makes of the error. Unknown errors are thrown. */
  const within = async <T>(
    timeoutMs: number,
    call: () => Promise<unknown>,
    done: T,
    answerFor: (error: unknown) => T | undefined,
  ): Promise<T> => {
    try {
      await client.withDeadline(Date.now() + timeoutMs, call);
      return done;
    } catch (error) {
      const answer = answerFor(error);
      if (answer === undefined) throw error;
      return answer;
    }
  };
  /** True if the call succeeded, false if Temporal is unavailable or refuses with this error. */
  const succeeds = (timeoutMs: number, call: () => Promise<unknown>, refusal: RefusalClass): Promise<boolean> =>
    within<boolean>(timeoutMs, call, true, (error) =>
      error instanceof refusal || isTemporalAway(error) ? false : undefined,
    );

  return {
    start: (task, timeoutMs) =>
      within(timeoutMs, () => client.workflow.start(mediaTaskWorkflow, startOptions(task)), 'started', startResult),
    startAgain: (task, timeoutMs) =>
      within(timeoutMs, () => client.workflow.start(mediaTaskWorkflow, anotherStart(task)), 'started', startResult),
    readRecord: (taskId, timeoutMs) => readWorkflowRecord(client, taskId, timeoutMs),
    terminate: (ended) => terminateWorkflow(client, ended),
    collect: (task, timeoutMs) =>
      within(
        timeoutMs,
        () => client.workflow.signalWithStart(mediaTaskWorkflow, { ...startOptions(task), ...collecting }),
        'started',
        startResult,
      ),

    async startAndReserve(task, timeoutMs) {
      let admitted = false;
      // If Temporal is busy or unavailable, or answers too late, the caller decides in the database instead.
      const update = async () => void (admitted = await updateWithStart(client, task));
      const isAnswered = await succeeds(timeoutMs, update, WorkflowExecutionAlreadyStartedError);
      return isAnswered ? { admitted } : null;
    },

    cancel: (taskId) =>
      succeeds(cancelTimeoutMs, () => client.workflow.getHandle(taskId).cancel(), WorkflowNotFoundError),

    startDelivery: (delivery, timeoutMs) =>
      succeeds(
        timeoutMs,
        () => client.workflow.start(redeliveryWorkflow, redeliveryOptions(delivery)),
        WorkflowExecutionAlreadyStartedError,
      ),

    retryCallback: (workflowId, timeoutMs) =>
      within<'signaled' | 'gone' | 'unreachable'>(
        timeoutMs,
        () => client.workflow.getHandle(workflowId).signal(retryCallbackSignal),
        'signaled',
        wakeUpResult,
      ),

    triggerScheduledJob: (name, timeoutMs) =>
      succeeds(timeoutMs, () => triggerSchedule(client.schedule, name), ScheduleNotFoundError),
    ensureServer: (schedules, timeoutMs) => ensureServer(client, access.namespace, schedules, timeoutMs),
    isReachable: (timeoutMs) => answersWithin(client, timeoutMs),
    close: () => connection.close(),
  };
}

const answersWithin = ({ connection }: Client, timeoutMs: number): Promise<boolean> =>
  connection
    .withDeadline(Date.now() + timeoutMs, () => connection.workflowService.getSystemInfo({}))
    .then(() => true)
    .catch(() => false);

async function updateWithStart(client: Client, task: WorkflowTask): Promise<boolean> {
  const startWorkflowOperation = new WithStartWorkflowOperation(mediaTaskWorkflow, {
    ...startOptions(task),
    workflowIdConflictPolicy: 'USE_EXISTING',
  });
  // The handle is unused, but its promise must not become an unhandled rejection when the start fails.
  startWorkflowOperation.workflowHandle().catch(() => undefined);
  const verdict: unknown = await client.workflow.executeUpdateWithStart(reservedUpdate, { startWorkflowOperation });
  return verdict === true;
}

const collecting = { signal: collectSignal, signalArgs: [] as [] };

function startResult(error: unknown): StartResult | undefined {
  if (error instanceof WorkflowExecutionAlreadyStartedError) return 'already_completed';
  return isTemporalAway(error) ? 'unreachable' : undefined;
}

function wakeUpResult(error: unknown): 'gone' | 'unreachable' | undefined {
  if (isWorkflowGone(error)) return 'gone';
  return isTemporalAway(error) ? 'unreachable' : undefined;
}

type RefusalClass = abstract new (...args: never[]) => Error;

async function ensureServer(
  { connection, schedule }: Client,
  namespace: string,
  schedules: readonly ScheduledJobSettings[],
  timeoutMs: number,
): Promise<{ what: string; error: unknown }[]> {
  const parts = [
    { what: 'the namespace', ensure: () => ensureNamespace(connection, namespace) },
    { what: 'the search attributes', ensure: () => ensureSearchAttributes(connection, namespace) },
    { what: 'the Schedules', ensure: () => ensureSchedules(schedule, schedules) },
  ];
  const failures: { what: string; error: unknown }[] = [];
  for (const { what, ensure } of parts) {
    await connection
      .withDeadline(Date.now() + timeoutMs, ensure)
      .catch((error: unknown) => failures.push({ what, error }));
  }
  return failures;
}

const redeliveryOptions = (input: RedeliveryInput) => ({
  workflowId: input.deliveryId,
  taskQueue: taskQueues.tasks,
  args: [input] as [RedeliveryInput],
  workflowIdConflictPolicy: 'USE_EXISTING' as const,
  priority: { fairnessKey: input.projectId },
  staticSummary: 'callback, delivered again',
});

const anotherStart = (task: WorkflowTask): WorkflowStartOptions => ({
  ...startOptions(task),
  workflowIdReusePolicy: 'ALLOW_DUPLICATE',
});

const keyword = (name: string) => defineSearchAttributeKey(name, SearchAttributeType.KEYWORD);
const modelKey = keyword(searchAttributes.model);
const projectKey = keyword(searchAttributes.project);
const kindKey = keyword(searchAttributes.kind);

function startOptions(task: WorkflowTask): WorkflowStartOptions {
  const input: MediaTaskInput = { taskId: task.taskId, projectId: task.projectId, type: task.type };
  return {
    workflowId: task.taskId,
    taskQueue: taskQueues.tasks,
    args: [input],
    workflowIdConflictPolicy: 'USE_EXISTING',
    workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY',
    staticSummary: taskSummary(task.type, task.modelId, task.input),
    priority: { fairnessKey: task.projectId },
    typedSearchAttributes: new TypedSearchAttributes([
      { key: modelKey, value: task.modelId },
      { key: projectKey, value: task.projectId },
      { key: kindKey, value: task.type },
    ]),
  };
}
