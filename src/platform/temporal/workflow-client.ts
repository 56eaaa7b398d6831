import {
  Client,
  Connection,
  isGrpcServiceError,
  NamespaceNotFoundError,
  ServiceError,
  WithStartWorkflowOperation,
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
  type ConnectionOptions,
  type TLSConfig,
  ScheduleNotFoundError,
  type WorkflowStartOptions,
} from '@temporalio/client';
import { defineSearchAttributeKey, SearchAttributeType, TypedSearchAttributes } from '@temporalio/common';
import { readFileSync } from 'node:fs';
import type { JobName } from '../../domain/job.ts';
import type { JsonObject } from '../../domain/json.ts';
import type { TaskType } from '../../domain/task.ts';
import {
  mediaTaskWorkflow,
  redeliveryWorkflow,
  reservedUpdate,
  retryCallbackSignal,
  searchAttributes,
  taskQueues,
  taskSummary,
  type MediaTaskInput,
  type RedeliveryInput,
} from '../../domain/workflow-contract.ts';
import { ensureNamespace, ensureSearchAttributes } from './ensure-namespace.ts';
import { ensureSchedules, triggerSchedule, type JobSchedule } from './job-schedules.ts';

/** What a workflow is started with: ids, and words for the Temporal UI. */
export interface WorkflowTask {
  taskId: string;
  projectId: string;
  type: TaskType;
  modelId: string;
  input: JsonObject | null;
}

export type StartResult = 'started' | 'already_completed' | 'unreachable';

/** The gateway's side of Temporal. Nothing here throws because Temporal is away: it says so. */
export interface WorkflowClient {
  /** Starts the task's workflow, or joins the one that runs. Bounded by `timeoutMs`. */
  start(task: WorkflowTask, timeoutMs: number): Promise<StartResult>;
  /** Update-with-start: true when the workflow's first step answered within `timeoutMs` (its verdict is in the database). */
  startAndReserve(task: WorkflowTask, timeoutMs: number): Promise<boolean>;
  /** Asks for the cancellation of a task's workflow, best effort. */
  cancel(taskId: string, timeoutMs: number): Promise<boolean>;
  /** Cuts a callback's wait short. `gone`: no open workflow holds it. */
  retryCallback(workflowId: string, timeoutMs: number): Promise<'signaled' | 'gone' | 'unreachable'>;
  /** Starts the workflow of a callback that is delivered again; false when Temporal is away, then the sweep delivers. */
  startDelivery(delivery: RedeliveryInput & { projectId: string }, timeoutMs: number): Promise<boolean>;
  /** Asks a job's Schedule to run it now; false when Temporal is away or has no such Schedule. */
  triggerJob(name: JobName, timeoutMs: number): Promise<boolean>;
  /**
   * Makes what is missing of the namespace, the search attributes and the Schedules, keeping an operator's pause. Each part
   * is tried whatever became of the others; answers what could not be done.
   */
  ensureServer(schedules: readonly JobSchedule[], timeoutMs: number): Promise<{ what: string; error: unknown }[]>;
  close(): Promise<void>;
}

export interface TemporalAccess {
  address: string;
  namespace: string;
  apiKey: string;
  tls: { caFile: string; certFile: string; keyFile: string };
}

/** What the client's connection and the worker's native one have in common. */
type SharedConnectionOptions = Pick<ConnectionOptions, 'address'> & { tls?: TLSConfig; apiKey?: string };

/** How to reach Temporal: plain on a private network, TLS with files or an API key elsewhere. */
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

/** Connects lazily: the API starts and serves while Temporal is away. */
export function createWorkflowClient(access: TemporalAccess): WorkflowClient {
  const connection = Connection.lazy(temporalConnectionOptions(access));
  const client = new Client({ connection, namespace: access.namespace });

  return {
    async start(task, timeoutMs) {
      try {
        await client.withDeadline(Date.now() + timeoutMs, () =>
          client.workflow.start(mediaTaskWorkflow, startOptions(task)),
        );
        return 'started';
      } catch (error) {
        if (error instanceof WorkflowExecutionAlreadyStartedError) return 'already_completed';
        if (isAway(error)) return 'unreachable';
        throw error;
      }
    },

    async startAndReserve(task, timeoutMs) {
      const startWorkflowOperation = new WithStartWorkflowOperation(mediaTaskWorkflow, {
        ...startOptions(task),
        workflowIdConflictPolicy: 'USE_EXISTING',
      });
      // The handle is not used, but its promise must not be the unhandled rejection of a failed start.
      startWorkflowOperation.workflowHandle().catch(() => undefined);
      try {
        await client.withDeadline(Date.now() + timeoutMs, () =>
          client.workflow.executeUpdateWithStart(reservedUpdate, { startWorkflowOperation }),
        );
        return true;
      } catch (error) {
        // Busy or away, or answered too late: whoever asked decides in the database instead.
        if (error instanceof WorkflowExecutionAlreadyStartedError || isAway(error)) return false;
        throw error;
      }
    },

    async cancel(taskId, timeoutMs) {
      try {
        await client.withDeadline(Date.now() + timeoutMs, () => client.workflow.getHandle(taskId).cancel());
        return true;
      } catch (error) {
        if (error instanceof WorkflowNotFoundError || isAway(error)) return false;
        throw error;
      }
    },

    async startDelivery({ deliveryId, projectId, limits }, timeoutMs) {
      const input: RedeliveryInput = { deliveryId, limits };
      try {
        await client.withDeadline(Date.now() + timeoutMs, () =>
          client.workflow.start(redeliveryWorkflow, {
            workflowId: deliveryId,
            taskQueue: taskQueues.tasks,
            args: [input],
            workflowIdConflictPolicy: 'USE_EXISTING',
            priority: { fairnessKey: projectId },
            staticSummary: 'callback, delivered again',
          }),
        );
        return true;
      } catch (error) {
        if (error instanceof WorkflowExecutionAlreadyStartedError || isAway(error)) return false;
        throw error;
      }
    },

    async retryCallback(workflowId, timeoutMs) {
      try {
        await client.withDeadline(Date.now() + timeoutMs, () =>
          client.workflow.getHandle(workflowId).signal(retryCallbackSignal),
        );
        return 'signaled';
      } catch (error) {
        // With its namespace every workflow is gone.
        if (error instanceof WorkflowNotFoundError || error instanceof NamespaceNotFoundError) return 'gone';
        if (isAway(error)) return 'unreachable';
        throw error;
      }
    },

    async triggerJob(name, timeoutMs) {
      try {
        await client.withDeadline(Date.now() + timeoutMs, () => triggerSchedule(client.schedule, name));
        return true;
      } catch (error) {
        if (error instanceof ScheduleNotFoundError || isAway(error)) return false;
        throw error;
      }
    },

    async ensureServer(schedules, timeoutMs) {
      const { namespace } = access;
      const parts = [
        { what: 'the namespace', ensure: () => ensureNamespace(connection, namespace) },
        { what: 'the search attributes', ensure: () => ensureSearchAttributes(connection, namespace) },
        { what: 'the Schedules', ensure: () => ensureSchedules(client.schedule, schedules) },
      ];
      const troubles: { what: string; error: unknown }[] = [];
      for (const { what, ensure } of parts) {
        await connection
          .withDeadline(Date.now() + timeoutMs, ensure)
          .catch((error: unknown) => troubles.push({ what, error }));
      }
      return troubles;
    },

    close: () => connection.close(),
  };
}

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

/** Any gRPC trouble counts as "not reachable just now": the database is enough to go on. */
const isAway = (error: unknown): boolean =>
  error instanceof ServiceError ||
  error instanceof NamespaceNotFoundError ||
  error instanceof WorkflowUpdateRPCTimeoutOrCancelledError ||
  error instanceof WorkflowUpdateFailedError ||
  isGrpcServiceError(error);
