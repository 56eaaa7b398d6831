import { explainTask } from '../../services/tasks/show/explain-task.ts';
import { listDeliveries } from '../../services/callbacks/list-deliveries.ts';
import { UnknownToOperator } from '../../services/operator-error.ts';
import { listLedgerEntries } from '../../services/ledger/list-ledger-entries.ts';
import { listAttemptDetails, type AttemptDetail } from '../../db/tasks/attempt-details.ts';
import type { Database } from '../../db/database.ts';
import { customerSentence, refusalSentence } from '../../domain/requests/customer-sentence.ts';
import type { TaskView } from '../../domain/tasks/task-view.ts';
import type { Config } from '../../config/load-config.ts';
import { findTaskOwners, type TaskOwner } from '../../db/tasks/task-owners.ts';
import { findResolution } from '../../db/tasks/resolutions.ts';
import { findTask, findTraceParent } from '../../db/tasks/tasks.ts';
import type { z } from 'zod';
import type { PublicDelivery } from '../../schemas/delivery.ts';
import { TaskTimeline, type TaskRow } from '../schemas/tasks.ts';
import { action } from '../define-action.ts';
import { shortText } from '../input.ts';
import { factText, table, time } from '../plain-text.ts';
import { jsonRow, type Report } from '../report.ts';
import { shownCredits, type ShownDeps } from '../shown-credits.ts';

/** `tollgate tasks timeline` */
export const timelineAction = action({
  summary: 'show what happened to a task, without its prompt and its results',
  input: { id: shortText.describe('task id, such as task_…') },
  route: { method: 'GET', path: '/tasks/:id', role: 'viewer' },
  answer: TaskTimeline,
  refusals: ['not_found'],
  needs: 'database',
  run: (deps, { id }) => reportTimeline(deps, id),
});

/** Everything about a task but its prompt and its results: why it ended as it did comes first. */
export async function reportTimeline(
  deps: ShownDeps & { config: WorkflowUrlConfig },
  taskId: string,
): Promise<Report<z.input<typeof TaskTimeline>>> {
  const task = await existingTask(deps.db, taskId);
  const [owners, attempts, traceId, resolution, deliveries, ledger] = await Promise.all([
    findTaskOwners(deps.db, [taskId]),
    listAttemptDetails(deps.db, taskId),
    traceIdOf(deps.db, taskId),
    findResolution(deps.db, taskId),
    listDeliveries(deps, taskId, firstPage),
    listLedgerEntries(deps, { projectId: task.projectId, requestId: taskId }, firstPage),
  ]);
  const row = taskRow(task, owners.get(taskId));
  const shown = await shownCredits(deps);
  const { quoted, charged, refunded } = task.credits;
  const net = ledger.items.reduce((sum, { credits }) => sum - credits, 0);
  const about = { id: task.id, model: task.modelId, startedAt: task.createdAt };
  const forCustomer =
    task.admission === 'rejected'
      ? refusalSentence({ ...about, errorCode: task.refusalCode, status: 503 })
      : customerSentence({
          ...about,
          noun: task.type,
          isRunning: task.completedAt === null,
          reason: task.errorCode,
          charged: net,
        });
  const explanation = explainTask(task, { calls: attempts, lastDelivery: deliveries.items[0], ledger: ledger.items });
  return {
    document: {
      ...row,
      explanation,
      for_customer: forCustomer,
      attempts_detail: attempts.map(jsonRow),
      ...callCosts(attempts),
      resolution,
      workflow_url: workflowUrl(deps.config, taskId),
      trace_id: traceId,
      deliveries: deliveries.items,
      ledger: ledger.items,
    },
    text: [
      explanation,
      factText({
        ...row,
        created_at: time(task.createdAt),
        started_at: time(task.startedAt),
        completed_at: time(task.completedAt),
        trace_id: traceId,
        credits: `quoted ${shown(quoted)}, charged ${shown(charged)}, refunded ${shown(refunded)}`,
        ...callCosts(attempts),
        for_customer: forCustomer,
      }),
      taskCallTable(attempts),
      table(
        ledger.items.map(({ at, kind, credits, balance_after, reason, reference }) => ({
          at: time(at),
          kind,
          credits: shown(credits),
          balance_after: shown(balance_after),
          reason: reason ?? reference,
        })),
        'No credits were moved yet.',
      ),
      ...(deliveries.items.length > 0 ? [tryTable(deliveries.items)] : []),
    ].join('\n\n'),
  };
}

/** The tries of the callbacks of a task, for people. */
const tryTable = (deliveries: readonly PublicDelivery[]): string =>
  table(
    deliveries.flatMap(({ delivery_id, state, tries }) =>
      tries.map((one) => ({
        callback: delivery_id,
        state,
        ...one,
        started_at: time(one.started_at),
        ended_at: time(one.ended_at),
      })),
    ),
    'The callback was not tried yet.',
  );

type WorkflowUrlConfig = Pick<Config, 'development' | 'temporal'>;

/** The page of the task's workflow, whose id is that of the task; null where the address of the Temporal UI is not known. */
const workflowUrl = ({ development, temporal }: WorkflowUrlConfig, taskId: string): string | null =>
  development.temporalUiUrl === ''
    ? null
    : `${development.temporalUiUrl}/namespaces/${temporal.namespace}/workflows/${taskId}`;

/** More than one task has: its callback can be sent again by hand. */
export const firstPage = { limit: 100, after: null };

/** The trace from the create request to the callback; null if the task is not traced. */
export async function traceIdOf(db: Database, taskId: string): Promise<string | null> {
  // W3C Trace Context: version, trace id, span id, flags.
  return (await findTraceParent(db, taskId))?.split('-')[1] ?? null;
}

export async function existingTask(db: Database, id: string): Promise<TaskView> {
  const task = await findTask(db, id);
  if (!task)
    throw new UnknownToOperator(`There is no task ${id}. "tollgate requests show" shows any request by its id.`);
  return task;
}

/** A task without its input and output. */
export const taskRow = (task: TaskView, owner: TaskOwner | undefined): z.input<typeof TaskRow> => ({
  task_id: task.id,
  project_id: task.projectId,
  project_name: owner?.projectName ?? '',
  key_id: owner?.keyId ?? '',
  key_name: owner?.keyName ?? '',
  type: task.type,
  model: task.modelId,
  status: task.status,
  error_code: task.errorCode,
  outcome_unknown: task.outcomeUnknown,
  attempts: task.attempts,
  credits: task.credits,
  created_at: task.createdAt,
  started_at: task.startedAt,
  completed_at: task.completedAt,
  request_id: task.requestId,
});

/** What the calls of a task cost, and how many of them have an unknown cost. */
export const callCosts = (attempts: readonly Pick<AttemptDetail, 'costMicroUsd' | 'costUnknown'>[]) => ({
  cost_micro_usd: attempts.reduce((sum, { costMicroUsd }) => sum + costMicroUsd, 0),
  unknown_costs: attempts.filter(({ costUnknown }) => costUnknown).length,
});

/** Every provider call of a task, for people. */
export const taskCallTable = (attempts: Awaited<ReturnType<typeof listAttemptDetails>>): string =>
  table(
    attempts.map((attempt) => ({
      n: attempt.n,
      channel: attempt.channel,
      outcome: attempt.outcome ?? (attempt.nextPollAt === null ? 'running' : 'parked'),
      error_class: attempt.errorClass,
      status: attempt.status,
      detail: attempt.detail,
      code: attempt.code,
      operation: attempt.operation,
      cost_micro_usd: attempt.costUnknown ? 'unknown' : attempt.costMicroUsd,
      started_at: time(attempt.startedAt),
      submitted_at: time(attempt.submittedAt),
      ended_at: time(attempt.endedAt),
      next_poll_at: time(attempt.nextPollAt),
    })),
    'No call to a provider is recorded.',
  );
