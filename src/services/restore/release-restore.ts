import { releaseMark, type RestoredTask } from '../../db/restore/restored-work.ts';
import type { RestoreMark } from '../../db/restore/restore-marks.ts';
import type { Deps } from '../../deps.ts';
import { inLanes } from '../../platform/in-lanes.ts';
import { OperatorError } from '../operator-error.ts';
import { finishTask } from '../tasks/end/finish-task.ts';
import type { ReleasePlan } from './release-plan.ts';

type ReleaseDeps = Pick<Deps, 'config' | 'db' | 'ledger' | 'logger'> & {
  workflows: Pick<Deps['workflows'], 'terminate'>;
};

const terminateMs = 5_000;
const lanes = 8;

/**
 * Carries out the plan: ends the tasks whose outcome is unknown, with a refund, terminates the workflows of the others, which have the
 * deadlines of before, and lets the workers start these tasks again. Run again after an interruption, it does the rest.
 */
export async function releaseRestore(deps: ReleaseDeps, mark: RestoreMark, plan: ReleasePlan): Promise<void> {
  const outcome = { kind: 'failed', code: 'upstream_outcome_unknown', unknown: true } as const;
  await inLanes(plan.unknown, lanes, async ({ taskId }) => {
    await finishTask(deps, { taskId, outcome });
    await terminate(deps, taskId);
  });
  const resumed = [...plan.poll, ...plan.submit];
  await inLanes(resumed, lanes, async ({ taskId }: RestoredTask) => terminate(deps, taskId));
  const ids = resumed.map(({ taskId }) => taskId);
  if (!(await releaseMark(deps.db, mark, ids))) throw new OperatorError('The restored database was released already.');
}

async function terminate({ workflows }: ReleaseDeps, taskId: string): Promise<void> {
  if (!(await workflows.terminate({ taskId, reason: 'the database was restored', timeoutMs: terminateMs })))
    throw new OperatorError('Temporal does not answer any more. The workers stay quiet: try again.');
}
