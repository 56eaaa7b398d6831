import { z } from 'zod';
import { Delivery } from '../../schemas/delivery.ts';
import { LedgerEntrySchema } from '../../schemas/ledger-entry.ts';
import { Task, TaskCredits } from '../../schemas/task.ts';
import { timestamp, timestampOrNull } from '../../schemas/time.ts';
import { recordedOutcomes } from '../../domain/channels/upstream.ts';
import { taskErrorTable, taskStatuses, taskTypes, type TaskErrorCode } from '../../domain/tasks/task.ts';
import { changed } from './changed.ts';
import { costUnknown, unknownCosts } from './costs.ts';
import { forCustomer } from './chats.ts';
import { keyId, projectId, requestId, taskId } from './ids.ts';

const errorCodes = Object.keys(taskErrorTable) as TaskErrorCode[];

const row = {
  task_id: taskId,
  project_id: projectId,
  project_name: z.string(),
  key_id: keyId,
  key_name: z.string(),
  type: z.enum(taskTypes),
  model: z.string(),
  status: z.enum(taskStatuses),
  error_code: z.enum(errorCodes).nullable(),
  outcome_unknown: z.boolean().describe('A provider may have billed it.'),
  attempts: z.int().describe('Calls to providers.'),
  credits: TaskCredits,
  created_at: timestamp,
  started_at: timestampOrNull,
  completed_at: timestampOrNull,
  request_id: requestId,
};

/** A task without its input and output. */
export const TaskRow = z.object(row).meta({ id: 'TaskRow' });

const AttemptDetailSchema = z
  .object({
    n: z.int(),
    channel: z.string(),
    outcome: z.enum(recordedOutcomes).nullable().describe('Null while it runs.'),
    error_class: z.string().nullable(),
    status: z.int().nullable().describe("The provider's HTTP status, if it answered."),
    detail: z
      .string()
      .nullable()
      .describe("The codes of the provider's answer, and what became of the call. Never what the prompt says."),
    code: z.string().nullable(),
    operation: z.record(z.string(), z.unknown()).nullable().describe("The provider's reference of the job."),
    cost_micro_usd: z.number().describe('By the catalog. 0 if the call bought nothing.'),
    cost_unknown: costUnknown,
    started_at: timestamp,
    submitted_at: timestampOrNull,
    ended_at: timestampOrNull,
    took_ms: z.number().nullable(),
    next_poll_at: timestampOrNull.describe('While the job is parked: when the provider is asked again.'),
  })
  .meta({ id: 'AttemptDetail' });

const outcome = z.enum(['bought', 'not_bought']);
const reference = z.string().describe('The evidence, such as an invoice.');
const resolution = z
  .object({ outcome, reference })
  .nullable()
  .describe('What an operator found out about an unknown outcome.');

const traceId = z.string().nullable().describe('From its create request to its callback, if that is traced.');

const explanation = z.string().describe('Why it ended as it did, and what became of its callback, in sentences.');

export const TaskTimeline = z
  .object({
    ...row,
    explanation,
    for_customer: forCustomer,
    attempts_detail: z.array(AttemptDetailSchema),
    cost_micro_usd: z.number().describe('Of all its calls.'),
    unknown_costs: unknownCosts,
    resolution,
    workflow_url: z.string().nullable().describe('In the Temporal UI, if its address is known.'),
    trace_id: traceId,
    deliveries: z.array(Delivery),
    ledger: z.array(LedgerEntrySchema),
  })
  .meta({ id: 'TaskTimeline' });

const keptResults = z
  .array(z.object({ attempt: z.int(), url: z.string().nullable().describe('Null if no configured key decrypts it.') }))
  .describe('Addresses of results that a provider gave and the task did not get. `tasks adopt` saves one.');

export const TaskContent = Task.extend({
  explanation,
  kept_results: keptResults,
  attempts_detail: z.array(AttemptDetailSchema),
  resolution,
  trace_id: traceId,
}).meta({ id: 'TaskContent' });

export const ResolvedTask = z.object({ task_id: taskId, outcome, reference, changed }).meta({ id: 'ResolvedTask' });

export const AdoptedResult = z
  .object({
    task_id: taskId,
    changed,
    charged: z.int().describe('Credits that this request charged.'),
    charged_in_all: z.int().describe('Credits that were charged for the result, by this request or an earlier one.'),
    output: Task.shape.output,
  })
  .meta({ id: 'AdoptedResult' });

export const CanceledTask = z
  .object({
    task_id: taskId,
    status: z.enum(taskStatuses),
    ended: z.boolean().describe('False if the task had ended before, so that nothing changed.'),
    refunded: z.int().describe('Credits that this request refunded.'),
    workflow_told: z.boolean().describe('Otherwise its workflow finds out later that the task has ended.'),
  })
  .meta({ id: 'CanceledTask' });

export const RedeliveredTask = z
  .object({ task_id: taskId, callback: Task.shape.callback })
  .meta({ id: 'RedeliveredTask' });
