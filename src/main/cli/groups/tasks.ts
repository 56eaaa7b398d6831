import { Option, type Command } from 'commander';
import { z } from 'zod';
import { forceCancelTask } from '../../../commands/tasks/force-cancel-task.ts';
import { OperatorError } from '../../../commands/operator-error.ts';
import { presentTask } from '../../../commands/tasks/present-task.ts';
import { redeliverCallback } from '../../../commands/callbacks/redeliver-callback.ts';
import { resolveTask } from '../../../commands/tasks/resolve-task.ts';
import { recordAudit } from '../../../db/audit.ts';
import { findResolution } from '../../../db/resolutions.ts';
import { listAttemptDetails } from '../../../db/attempt-details.ts';
import { findTask, listTasks, type TaskView } from '../../../db/tasks.ts';
import { defineCommand, type Invocation, type Report } from '../define-command.ts';
import { limit, shortText } from '../input.ts';
import { jsonRow } from '../json-row.ts';
import { database, databaseAndSecrets, upstreams } from '../operator-deps.ts';
import type { DatabaseDeps, SecretsDeps, UpstreamDeps } from '../operator-deps.ts';
import { facts, limited, table, time } from '../plain-text.ts';

/** `tollgate tasks …`: image and video tasks and their outcomes. */
export function registerTasks(root: Command, invocation: Invocation): void {
  const group = root.command('tasks').description('image and video tasks');
  defineCommand(group, 'list', invocation, {
    summary: 'list admitted tasks, newest first',
    usage: (command) =>
      command
        .option('--project <id>', 'show only this project')
        .addOption(new Option('--status <status>', 'show only this state').choices(statuses))
        .option('--unknown', 'show only unresolved tasks with an unknown outcome, which a provider may have billed')
        .option('--limit <rows>', 'show at most this many rows (default: 50)'),
    input: ListInput,
    needs: database,
    run: list,
  });
  defineCommand(group, 'show', invocation, {
    summary: 'show a task as its client sees it, and every provider call made for it',
    usage: withId,
    input: IdInput,
    needs: databaseAndSecrets,
    run: show,
  });
  defineCommand(group, 'resolve', invocation, {
    summary: 'record what became of a task with an unknown outcome; the task itself does not change',
    usage: (command) =>
      withId(command)
        .addOption(
          new Option('--outcome <outcome>', 'whether the provider billed the job')
            .choices(outcomes)
            .makeOptionMandatory(),
        )
        .requiredOption('--reference <text>', 'evidence, such as an invoice or a ticket'),
    input: z.object({ id: shortText, outcome: z.enum(outcomes), reference: shortText }),
    needs: database,
    run: resolve,
  });
  defineCommand(group, 'cancel', invocation, {
    summary: 'end a task and refund it, whatever state its provider job is in',
    usage: withId,
    input: IdInput,
    needs: upstreams,
    run: cancel,
  });
  defineCommand(group, 'redeliver', invocation, {
    summary: 'send the callback of an ended task again, under a new id',
    usage: withId,
    input: IdInput,
    needs: upstreams,
    run: redeliver,
  });
}

const statuses = ['queued', 'processing', 'succeeded', 'failed', 'canceled'] as const;
const outcomes = ['bought', 'not_bought'] as const;
const ListInput = z.object({
  project: shortText.optional(),
  status: z.enum(statuses).optional(),
  unknown: z.boolean().default(false),
  limit: limit(50),
});
const IdInput = z.object({ id: shortText });
const withId = (command: Command) => command.argument('<id>', 'task id, such as task_…');

async function list({ db }: DatabaseDeps, input: z.infer<typeof ListInput>): Promise<Report> {
  const tasks = await listTasks(db, {
    ...(input.project !== undefined && { projectId: input.project }),
    ...(input.status !== undefined && { status: input.status }),
    unknownOnly: input.unknown,
    limit: input.limit,
  });
  const text = table(
    tasks.map((task) => ({
      task_id: task.id,
      project_id: task.projectId,
      model: task.modelId,
      status: task.status,
      error: task.errorCode,
      unknown: task.outcomeUnknown ? 'yes' : null,
      attempts: task.attempts,
      charged: task.credits.charged,
      refunded: task.credits.refunded,
      created_at: time(task.createdAt),
      completed_at: time(task.completedAt),
    })),
    'No task matches.',
  );
  return { document: { data: tasks.map(toRow) }, text: limited(text, tasks, input.limit) };
}

/** A task in a list: without input and output, which `show` has. */
const toRow = (task: TaskView) => ({
  task_id: task.id,
  project_id: task.projectId,
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

async function show(deps: SecretsDeps, { id }: { id: string }): Promise<Report> {
  const task = await findTask(deps.db, id);
  if (!task) throw new OperatorError(`There is no task ${id}.`);
  const attempts = await listAttemptDetails(deps.db, id);
  const resolution = await findResolution(deps.db, id);
  const shown = presentTask(deps, task);
  const about = facts({
    task_id: task.id,
    project_id: task.projectId,
    request_id: task.requestId,
    model: `${task.modelId} (${task.type})`,
    admission: task.admission,
    status: task.progress === null ? task.status : `${task.status}, ${task.progress} %`,
    error: task.errorCode,
    outcome_unknown: task.outcomeUnknown ? 'yes: a provider may have billed it' : null,
    resolution: resolution && `${resolution.outcome} (${resolution.reference})`,
    cost_micro_usd: attempts.reduce((sum, attempt) => sum + attempt.costMicroUsd, 0),
    credits: Object.entries(task.credits)
      .map(([name, credits]) => `${name} ${credits}`)
      .join(', '),
    created_at: time(task.createdAt),
    started_at: time(task.startedAt),
    completed_at: time(task.completedAt),
    callback: task.callback === null ? null : `${task.callback.state} after ${task.callback.attempts} tries`,
    input: JSON.stringify(shown['input']),
    output: JSON.stringify(shown['output']),
  });
  const calls = table(
    attempts.map((attempt) => ({
      n: attempt.n,
      channel: attempt.channel,
      outcome: attempt.outcome ?? 'running',
      error_class: attempt.errorClass,
      status: attempt.status,
      detail: attempt.detail,
      code: attempt.code,
      operation: attempt.operation === null ? null : JSON.stringify(attempt.operation),
      cost_micro_usd: attempt.costMicroUsd,
      started_at: time(attempt.startedAt),
      submitted_at: time(attempt.submittedAt),
      ended_at: time(attempt.endedAt),
    })),
    'No channel was called.',
  );
  return { document: { ...shown, attempts_detail: attempts.map(jsonRow), resolution }, text: `${about}\n\n${calls}` };
}

async function resolve(
  deps: DatabaseDeps,
  { id, outcome, reference }: { id: string; outcome: (typeof outcomes)[number]; reference: string },
  actor: string,
): Promise<Report> {
  const { changed } = await resolveTask(deps, { taskId: id, outcome, reference, actor });
  return {
    document: { task_id: id, outcome, reference, changed },
    text: changed ? `Resolved ${id}: ${outcome}.` : `${id} already has this resolution. Nothing changed.`,
  };
}

async function cancel(deps: UpstreamDeps, { id }: { id: string }, actor: string): Promise<Report> {
  const { taskId, status, ended, refunded, workflowTold } = await forceCancelTask(deps, { taskId: id, actor });
  const sentences = ended
    ? [
        `Ended ${taskId} (${status}) and refunded ${refunded} credits.`,
        workflowTold ? 'Its workflow was notified.' : 'Its workflow could not be notified; it ends at its next step.',
      ]
    : [`${taskId} has already ended (${status}). Nothing changed.`];
  return {
    document: { task_id: taskId, status, ended, refunded, workflow_told: workflowTold },
    text: sentences.join('\n'),
  };
}

async function redeliver(deps: UpstreamDeps, { id }: { id: string }, actor: string): Promise<Report> {
  const task = await findTask(deps.db, id);
  if (!task) throw new OperatorError(`There is no task ${id}.`);
  const { callback } = await redeliverCallback(deps, task);
  await recordAudit(deps.db, { actor, action: 'tasks.redeliver', subject: id });
  return {
    document: { task_id: id, callback },
    text: `The callback of ${id} is being sent again (${callback?.state ?? 'pending'}).`,
  };
}
