import { CreateFailed } from '../../../domain/errors.ts';
import { readUndecided, rejectUndecided, UNKEYED_DECIDE_SECONDS } from '../../../db/tasks/tasks.ts';
import type { Deps } from '../../../deps.ts';
import { keepWriting } from '../../keep-writing.ts';
import type { AdmissionVerdict } from './task-admission.ts';

/** Longer than the usual restart of a database, and shorter than most clients and proxies wait for an answer. */
const certaintySeconds = 25;
const marginMs = 200;

/**
 * The verdict about the credits of a written task without an Idempotency-Key: its client could not find the task after an error. Throws
 * `CreateFailed`: `no` when the database has confirmed that the task never runs; `unknown`, with the id of the task, if the
 * database cannot be reached, because a reservation whose answer was lost may have let a worker begin the task.
 */
export async function decideUnkeyed(
  deps: Pick<Deps, 'db' | 'ledger' | 'logger'>,
  taskId: string,
  admit: () => Promise<AdmissionVerdict>,
): Promise<AdmissionVerdict> {
  const startedAt = performance.now();
  const leftOf = (seconds: number) => () => startedAt + seconds * 1_000 + marginMs - performance.now();
  try {
    return await admit();
  } catch (error) {
    deps.logger.warn({ err: error, task_id: taskId }, 'the verdict about a task is asked for again');
  }
  try {
    return await keepWriting(() => deps.ledger.reserveTask(taskId, false), { leftMs: leftOf(UNKEYED_DECIDE_SECONDS) });
  } catch (cause) {
    const last = await keepWriting(() => lastAdmission(deps, taskId), { leftMs: leftOf(certaintySeconds) }).catch(
      () => {
        throw new CreateFailed('unknown', { cause, taskId });
      },
    );
    if (last === 'never') throw new CreateFailed('no', { cause });
    return { admitted: true, refusalCode: null };
  }
}

/** Rejects the task unless its credits are reserved. If it cannot be written, its age decides. Throws as long as neither is certain. */
async function lastAdmission({ db }: Pick<Deps, 'db'>, taskId: string): Promise<'reserved' | 'never'> {
  try {
    return (await rejectUndecided(db, taskId)) ? 'reserved' : 'never';
  } catch (error) {
    const seen = await readUndecided(db, taskId);
    if (seen === 'undecided') throw error;
    return seen;
  }
}
