import { listRestoredTasks, listStartedTaskIds, type RestoredTask } from '../../db/restore/restored-work.ts';
import type { RestoreMark } from '../../db/restore/restore-marks.ts';
import type { Deps } from '../../deps.ts';
import { inLanes } from '../../platform/in-lanes.ts';
import { hasUnrecordedAttempt, type WorkflowRecord } from '../../platform/temporal/workflow-record.ts';
import { OperatorError } from '../operator-error.ts';

/** What the release makes of each open task. */
export interface ReleasePlan {
  /** Whether Temporal knows the workflows of the restored tasks. If it was lost too, nothing tells which tasks were submitted. */
  temporal: 'known' | 'empty';
  /** Their provider job is polled on, or asked for where the submit was under way. */
  poll: RestoredTask[];
  /** No provider was called for them. */
  submit: RestoredTask[];
  /** They may have been submitted after the restore point, so that they end as an unknown outcome. No job is bought twice. */
  unknown: RestoredTask[];
}

type PlanDeps = Pick<Deps, 'db'> & { workflows: Pick<Deps['workflows'], 'readRecord'> };

type FoundRecord = Exclude<WorkflowRecord, 'unreachable'>;

const readMs = 5_000;
const lanes = 8;
/** Workflows that are looked up to see whether Temporal was lost. */
const sampleMax = 20;
/** Temporal deletes closed workflows after three days. What it does not know of an older task says nothing. */
const forgottenSeconds = 2 * 86_400;

/** Decides from the restored rows and from Temporal what becomes of each open task. Throws `OperatorError` if Temporal does not answer. */
export async function planRelease(deps: PlanDeps, mark: RestoreMark, resubmit: boolean): Promise<ReleasePlan> {
  const tasks = await listRestoredTasks(deps.db, mark);
  const records = new Map<string, FoundRecord>();
  await inLanes(tasks, lanes, async (task) => void records.set(task.taskId, await readRecord(deps, task.taskId)));
  const isComplete = await knowsWorkflows(deps, [...records.values()]);
  const plan: ReleasePlan = { temporal: isComplete ? 'known' : 'empty', poll: [], submit: [], unknown: [] };
  for (const task of tasks) {
    const record = records.get(task.taskId) ?? { hasWorkflow: false, channelIds: [] };
    const isProven = isComplete && (record.hasWorkflow || task.ageSeconds < forgottenSeconds);
    if (hasUnrecordedAttempt(record, task.channelIds)) plan.unknown.push(task);
    else if (task.isPolled) plan.poll.push(task);
    else if (isProven || resubmit) plan.submit.push(task);
    else plan.unknown.push(task);
  }
  return plan;
}

async function readRecord({ workflows }: PlanDeps, taskId: string): Promise<FoundRecord> {
  const record = await workflows.readRecord(taskId, readMs);
  if (record === 'unreachable')
    throw new OperatorError(
      'Temporal does not answer. Start it, with its database or with an empty one, and try again.',
    );
  return record;
}

/** Whether Temporal has any workflow that the database knows of. A database that knows of none has lost none. */
async function knowsWorkflows(deps: PlanDeps, records: readonly FoundRecord[]): Promise<boolean> {
  if (records.some(({ hasWorkflow }) => hasWorkflow)) return true;
  const started = await listStartedTaskIds(deps.db, sampleMax);
  for (const taskId of started) if ((await readRecord(deps, taskId)).hasWorkflow) return true;
  return started.length === 0;
}
