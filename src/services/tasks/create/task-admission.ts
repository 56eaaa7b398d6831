import { GatewayError } from '../../../domain/errors.ts';
import type { Admission } from '../../../db/ledger/ledger.ts';
import { readUnstarted } from '../../../db/tasks/tasks.ts';
import type { Deps } from '../../../deps.ts';
import { alarmOf } from '../../../domain/operators/alarm.ts';
import type { WorkflowTask } from '../../../platform/temporal/workflow-client.ts';
import { createCached } from '../../../caches/cached.ts';

export type AdmissionVerdict = Pick<Admission, 'admitted' | 'refusalCode'>;

export interface TaskAdmission {
  /** The stored, final verdict about a task's credits. */
  admit(task: WorkflowTask): Promise<AdmissionVerdict>;
  /**
   * Throws 503 `overloaded` while too many admitted tasks wait for their workflow, or the oldest has waited for as long as this task may
   * take. A few minutes without Temporal refuse nothing: PostgreSQL keeps the tasks, and workers start them afterwards.
   */
  assertNotOverloaded(deadlineSeconds: number): Promise<void>;
}

/** Creates that wait for their workflow at the same time. Beyond a few the database is faster, because it groups reservations. */
const waitersMax = 16;
/** Creates are refused while so many admitted tasks wait for their workflow. A worker starts them in a few minutes. */
export const waitingTasksMax = 10_000;
/** A wait for the workflow that takes longer than this makes the next creates skip it. */
const slowWaitMs = 250;
/** Refusals are many. The overview shows the alarm for a minute. */
const alarmEveryMs = 10_000;
/** After a slow or unanswered wait, creates use only the database for this long. */
const directAfterSlowMs = 2_000;

/**
 * Gets the verdict about a task's credits. A limited number of concurrent creates let the first step of the workflow decide. A
 * create over that limit, or one whose workflow does not answer in time, decides in the database. The verdict is stored, so both
 * paths read the same one (rules "Media tasks", point 2).
 */
export function createTaskAdmission(
  deps: Pick<Deps, 'config' | 'db' | 'ledger' | 'logger' | 'workflows'>,
): TaskAdmission {
  const { config, db, ledger, logger, workflows } = deps;
  let alarmedAt = -Infinity;
  let waiting = 0;
  let directUntil = 0;
  const backlog = createCached(1_000, () => readUnstarted(db, waitingTasksMax));

  const startWorkflow = async (task: WorkflowTask): Promise<{ admitted: boolean } | null> => {
    const before = performance.now();
    waiting += 1;
    try {
      const answer = await workflows.startAndReserve(task, config.tasks.createWaitMs);
      if (!answer || performance.now() - before > slowWaitMs) directUntil = performance.now() + directAfterSlowMs;
      return answer;
    } finally {
      waiting -= 1;
    }
  };

  return {
    async admit(task) {
      const mayWait = waiting < waitersMax && config.tasks.createWaitMs > 0 && performance.now() >= directUntil;
      const answer = mayWait ? await startWorkflow(task) : null;
      if (answer?.admitted) return { admitted: true, refusalCode: null };
      // Reads the reason of a refusal by the workflow's step, or decides if there is no answer.
      return ledger.reserveTask(task.taskId, false);
    },

    async assertNotOverloaded(deadlineSeconds) {
      const { count, oldestSeconds } = await backlog.get();
      if (count < waitingTasksMax && oldestSeconds < deadlineSeconds) return;
      const waited = `the oldest of ${count.toLocaleString('en-US')} has waited for ${Math.floor(oldestSeconds)} s`;
      if (performance.now() - alarmedAt > alarmEveryMs) {
        alarmedAt = performance.now();
        logger.error({ waiting: count, ...alarmOf('creates_refused') }, 'creates are refused: too many tasks wait');
      }
      const message = `New tasks cannot be started in time: ${waited}. Send the request again later.`;
      throw new GatewayError('overloaded', { message, retryAfterSeconds: 5 });
    },
  };
}
