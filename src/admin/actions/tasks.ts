import { z } from 'zod';
import { listOf } from '../../schemas/list.ts';
import { adoptResult } from '../../services/tasks/end/adopt-result.ts';
import { readKeptResults } from '../../services/tasks/attempt/kept-results.ts';
import { forceCancelTask } from '../../services/tasks/end/force-cancel-task.ts';
import { listDeliveries } from '../../services/callbacks/list-deliveries.ts';
import { explainTask } from '../../services/tasks/show/explain-task.ts';
import { presentTask } from '../../services/tasks/show/present-task.ts';
import { anyRedeliveries, redeliverCallback } from '../../services/callbacks/redeliver-callback.ts';
import { resolveTask } from '../../services/tasks/end/resolve-task.ts';
import { recordAudit } from '../../db/operators/audit.ts';
import { listLedgerEntries } from '../../services/ledger/list-ledger-entries.ts';
import { findTaskOwners } from '../../db/tasks/task-owners.ts';
import { findResolution } from '../../db/tasks/resolutions.ts';
import { listAttemptDetails } from '../../db/tasks/attempt-details.ts';
import { listTaskRows, taskColumns } from '../../db/tasks/list-task-rows.ts';
import { taskStatuses, taskTypes } from '../../domain/tasks/task.ts';
import type { TaskView } from '../../domain/tasks/task-view.ts';
import { AdoptedResult, CanceledTask, RedeliveredTask, ResolvedTask, TaskContent, TaskRow } from '../schemas/tasks.ts';
import { flag, group, option, readFrom, action } from '../define-action.ts';
import { shortText, text } from '../input.ts';
import { listInput, listRequest } from '../list-input.ts';
import { factText, time } from '../plain-text.ts';
import { jsonRow, listReport } from '../report.ts';
import { shownCredits } from '../shown-credits.ts';
import {
  taskCallTable,
  callCosts,
  existingTask,
  firstPage,
  taskRow,
  timelineAction,
  traceIdOf,
} from './task-timeline.ts';

/** `tollgate tasks …`: image and video tasks and their outcomes. */
export const taskActions = group('image and video tasks', () => ({
  list,
  show,
  timeline: timelineAction,
  resolve,
  adopt,
  cancel,
  redeliver,
}));

const list = action({
  summary: 'list admitted tasks, newest first',
  input: {
    project: option('<id>', shortText.optional()).describe('show only this project'),
    status: option('<status>', z.enum(taskStatuses).optional()).describe('show only this state'),
    unknown: flag().describe('show only unresolved tasks with an unknown outcome, which a provider may have billed'),
    type: option('<type>', z.enum(taskTypes).optional()).describe('show only images or videos'),
    model: option('<id>', shortText.optional()).describe('show only this model'),
    key: option('<id>', shortText.optional()).describe('show only the tasks of this key'),
    ...listInput('tasks', taskColumns, { time: 'created_at' }),
  },
  route: { method: 'GET', path: '/tasks', role: 'viewer' },
  answer: listOf(TaskRow),
  needs: 'database',
  async run(deps, { project: projectId, key: keyId, model: modelId, status, type, unknown: unknownOnly, ...page }) {
    const filter = { projectId, keyId, modelId, status, type, unknownOnly };
    const shown = await shownCredits(deps);
    const toLine = (task: TaskView) => ({
      task_id: task.id,
      project_id: task.projectId,
      model: task.modelId,
      status: task.status,
      error: task.errorCode,
      unknown: task.outcomeUnknown ? 'yes' : null,
      attempts: task.attempts,
      charged: shown(task.credits.charged),
      refunded: shown(task.credits.refunded),
      created_at: time(task.createdAt),
      completed_at: time(task.completedAt),
    });
    const found = await listTaskRows(deps.db, filter, listRequest(page));
    const owners = await findTaskOwners(
      deps.db,
      found.items.map((task) => task.id),
    );
    return listReport(found, toLine, {
      list: 'tasks',
      nothing: 'No task matches.',
      toDocument: (task) => taskRow(task, owners.get(task.id)),
    });
  },
});

const id = shortText.describe('task id, such as task_…');

/** The admin API takes a file as a `data:` URI. */
const resultUrl = text().regex(/^(https?:\/\/|data:)/i, 'must be an http or https URL or a data: URI');

const show = action({
  summary: 'show a task as its client sees it, and every provider call made for it',
  input: { id },
  route: { method: 'GET', path: '/tasks/:id/content', role: 'operator' },
  answer: TaskContent,
  refusals: ['not_found'],
  needs: 'secrets',
  async run(deps, { id: taskId }, actor) {
    const task = await existingTask(deps.db, taskId);
    // Reading a prompt is recorded in the audit log, as a change is.
    await recordAudit(deps.db, { actor, action: 'tasks.show', subject: taskId, before: null, after: null });
    const attempts = await listAttemptDetails(deps.db, taskId);
    const resolution = await findResolution(deps.db, taskId);
    const keptResults = await readKeptResults(deps, taskId);
    const traceId = await traceIdOf(deps.db, taskId);
    const presented = presentTask(deps, task);
    const [lastDelivery] = (await listDeliveries(deps, taskId, { limit: 1, after: null })).items;
    const ledger = (await listLedgerEntries(deps, { projectId: task.projectId, requestId: taskId }, firstPage)).items;
    const explanation = explainTask(task, { calls: attempts, lastDelivery, ledger });
    const shown = await shownCredits(deps);
    const about = factText({
      task_id: task.id,
      project_id: task.projectId,
      request_id: task.requestId,
      trace_id: traceId,
      model: `${task.modelId} (${task.type})`,
      admission: task.admission,
      status: task.progress === null ? task.status : `${task.status}, ${task.progress} %`,
      error: task.errorCode,
      outcome_unknown: task.outcomeUnknown ? 'yes: a provider may have billed it' : null,
      resolution: resolution && `${resolution.outcome} (${resolution.reference})`,
      ...callCosts(attempts),
      credits: Object.entries(task.credits)
        .map(([name, credits]) => `${name} ${shown(credits)}`)
        .join(', '),
      created_at: time(task.createdAt),
      started_at: time(task.startedAt),
      completed_at: time(task.completedAt),
      callback: task.callback === null ? null : `${task.callback.state} after ${task.callback.attempts} tries`,
      input: presented['input'],
      output: presented['output'],
      kept_results: keptResults.length === 0 ? null : keptResults,
    });
    return {
      document: {
        ...presented,
        explanation,
        kept_results: keptResults,
        attempts_detail: attempts.map(jsonRow),
        resolution,
        trace_id: traceId,
      },
      text: [explanation, about, taskCallTable(attempts)].join('\n\n'),
    };
  },
});

const resolve = action({
  summary: 'record what became of a task with an unknown outcome; the task itself does not change',
  input: {
    id,
    outcome: option('<outcome>', z.enum(['bought', 'not_bought'])).describe('whether the provider billed the job'),
    reference: option('<text>', shortText).describe('evidence, such as an invoice or a ticket'),
  },
  example: { outcome: 'not_bought', reference: 'ticket 4711' },
  route: { method: 'POST', path: '/tasks/:id/resolve', role: 'operator' },
  answer: ResolvedTask,
  refusals: ['not_found', 'action_refused'],
  needs: 'database',
  async run(deps, { id: taskId, outcome, reference }, actor) {
    const { changed } = await resolveTask(deps, { taskId, outcome, reference, actor });
    return {
      document: { task_id: taskId, outcome, reference, changed },
      text: changed ? `Resolved ${taskId}: ${outcome}.` : `${taskId} already has this resolution. Nothing changed.`,
    };
  },
});

const adopt = action({
  summary: 'store a result that the provider bills as the output of a task that failed or was canceled',
  input: {
    id,
    result: readFrom('result', option('<url|file>', resultUrl.optional())).describe(
      'address of the result, such as one of "tasks show", or a file of this machine; default: ask the provider once more',
    ),
    charge: flag().describe("charge the task's quoted credits, once; without it nothing is charged"),
  },
  example: { result: 'https://cdn.provider.example/clip.mp4' },
  // It decides from where a server of ours reads, with the credential of the channel.
  route: { method: 'POST', path: '/tasks/:id/adopt', role: 'owner' },
  answer: AdoptedResult,
  refusals: ['not_found', 'action_refused'],
  needs: 'worker',
  async run(deps, { id: taskId, result, charge }, actor) {
    const { changed, charged, chargedInAll, task } = await adoptResult(deps, { taskId, result, charge, actor });
    const sentence = changed
      ? `The result is the output of ${taskId}. ${charged} credits were charged.`
      : `${taskId} already has an adopted result. Nothing changed.`;
    return {
      document: {
        task_id: taskId,
        changed,
        charged,
        charged_in_all: chargedInAll,
        output: presentTask(deps, task).output,
      },
      text: sentence,
    };
  },
});

const cancel = action({
  summary: 'end a task and refund it, whatever state its provider job is in',
  input: { id },
  route: { method: 'POST', path: '/tasks/:id/cancel', role: 'operator' },
  answer: CanceledTask,
  refusals: ['not_found'],
  needs: 'upstreams',
  async run(deps, { id: requestedId }, actor) {
    const canceled = await forceCancelTask(deps, { taskId: requestedId, actor });
    const { taskId, status, ended, refunded, workflowTold: workflowNotified } = canceled;
    const sentences = ended
      ? [
          `Ended ${taskId} (${status}) and refunded ${refunded} credits.`,
          workflowNotified
            ? 'Its workflow was notified.'
            : 'Its workflow could not be notified; it ends at its next step.',
        ]
      : [`${taskId} has already ended (${status}). Nothing changed.`];
    return { document: jsonRow(canceled), text: sentences.join('\n') };
  },
});

const redeliver = action({
  summary: 'send the callback of an ended task again, under a new id',
  input: { id },
  route: { method: 'POST', path: '/tasks/:id/redeliver', role: 'operator' },
  answer: RedeliveredTask,
  refusals: ['not_found', 'task_content_erased', 'task_without_callback', 'task_not_ended'],
  needs: 'upstreams',
  async run(deps, { id: taskId }, actor) {
    const { callback } = await redeliverCallback(deps, await existingTask(deps.db, taskId), anyRedeliveries, actor);
    return {
      document: { task_id: taskId, callback: callback && jsonRow(callback) },
      text: `The callback of ${taskId} is being sent again (${callback?.state ?? 'pending'}).`,
    };
  },
});
