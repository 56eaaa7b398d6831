import { findRunningTask } from '../../../db/tasks/parked-provider-jobs.ts';
import type { Deps } from '../../../deps.ts';
import { startOrResume, type StartingWorkflows } from '../create/start-or-resume.ts';
import { createLaneQueue } from '../../../platform/lane-queue.ts';
import { alarmOf } from '../../../domain/operators/alarm.ts';

/** The workflows that are waiting to hear that their parked job has ended. */
export interface Collector {
  /** Tells the task's workflow soon. A call for a task that waits already changes nothing. */
  add(taskId: string): void;
  /** Forgets the waiting tasks. Resolves when the running calls have ended. */
  stop(): Promise<void>;
}

/** Signals sent at the same time: as the starter's starts, few enough to leave Temporal to the workflows. */
const lanesMax = 8;
/** Further tasks are dropped. Their jobs are polled again, so nothing is lost while Temporal is down. */
const waitingMax = 5_000;

/**
 * Signals workflows without making a poll wait for Temporal. It keeps no record: a job whose signal was lost is polled again when
 * its lease ends, and signaled again.
 */
export function createCollector(
  deps: Pick<Deps, 'config' | 'db' | 'ledger' | 'logger' | 'tracer'> & { workflows: StartingWorkflows },
): Collector {
  const { db, logger, tracer } = deps;
  let isAway = false;
  const signal = async (taskId: string): Promise<void> => {
    try {
      const task = await findRunningTask(db, taskId);
      if (!task) return;
      const collect = () => startOrResume(deps, task, 'collect');
      const away = (await tracer.resume(task.traceParent, 'collect the result', collect)) === 'unreachable';
      if (away && !isAway) logger.warn('Temporal is unavailable: results of parked provider jobs wait for it');
      isAway = away;
    } catch (error) {
      logger.error(
        { err: error, task_id: taskId, ...alarmOf('task_not_signaled') },
        'the workflow of a parked provider job could not be signaled',
      );
    }
  };
  const signals = createLaneQueue({ lanes: lanesMax, waitingMax }, signal);

  return {
    add: (taskId) => signals.add(taskId),
    async stop() {
      signals.leaveWaiting();
      await signals.idle();
    },
  };
}
