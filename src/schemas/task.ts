import { z } from 'zod';
import { deliveryStates } from '../domain/callbacks/delivery-state.ts';
import { recordedOutcomes } from '../domain/channels/upstream.ts';
import type { JsonObject } from '../domain/json.ts';
import { outputFacts } from '../domain/tasks/task-view.ts';
import { taskErrorTable, taskStatuses, taskTypes } from '../domain/tasks/task.ts';
import { listOf } from './list.ts';
import { timestamp, timestampOrNull } from './time.ts';

const Output = z
  .object({
    url: z.string().describe('A signed URL, which needs no key. It is valid until `expires_at`.'),
    ...outputFacts,
    expires_at: timestamp,
  })
  .meta({ id: 'TaskOutput' });

const codes = Object.keys(taskErrorTable) as (keyof typeof taskErrorTable)[];

export const TaskFailure = z.object({
  code: z.enum(codes),
  message: z.string(),
  retryable: z.boolean().describe('Whether the same request may succeed later.'),
});

export const TaskCredits = z.object({
  quoted: z.int(),
  reserved: z.int(),
  charged: z.int(),
  refunded: z.int(),
});

/** A task as a poll, a create and a callback show it. */
export const Task = z
  .object({
    task_id: z.string(),
    object: z.literal('task'),
    type: z.enum(taskTypes),
    model: z.string(),
    status: z.enum(taskStatuses).describe('The last three are final. An ended task never changes again.'),
    progress: z.number().nullable().describe('Percent, as far as the provider tells.'),
    created_at: timestamp,
    started_at: timestampOrNull,
    completed_at: timestampOrNull,
    expires_at: timestampOrNull.describe('When the results are deleted. Unix seconds.'),
    deadline_seconds: z.int(),
    max_credits: z.int().nullable(),
    metadata: z.record(z.string(), z.string()),
    input: z
      .record(z.string(), z.unknown())
      .nullable()
      .describe('The request as it is priced and sent, defaults included. Null once the content was erased.'),
    output: z.array(Output).nullable(),
    error: TaskFailure.nullable().describe('Why the task did not succeed.'),
    credits: TaskCredits,
    callback: z
      .object({
        state: z.enum(deliveryStates),
        attempts: z.int(),
        last_status: z.int().nullable(),
        next_attempt_at: timestampOrNull,
      })
      .nullable()
      .describe('The delivery to `callback_url`. Null without one.'),
    attempts: z.int().describe('Calls to providers.'),
    request_id: z.string().describe('The `x-request-id` of the create.'),
  })
  .meta({ id: 'Task' });
/** A task, which is JSON throughout. */
export type PublicTask = Omit<z.input<typeof Task>, 'input'> & { input: JsonObject | null };

/** The answer of a create with `dry_run`. */
export const Quote = z
  .object({
    object: z.literal('quote'),
    model: z.string(),
    type: z.enum(taskTypes),
    input: z.record(z.string(), z.unknown()).describe('The request as it would be priced and sent, defaults included.'),
    credits: z.object({ quoted: z.int() }),
    balance: z.object({
      available: z.int().describe('The credits of the project that nothing holds.'),
      sufficient: z.boolean().describe('Whether they and the budget of the key cover the task now.'),
    }),
  })
  .meta({ id: 'Quote' });
export type PublicQuote = z.input<typeof Quote>;

export const TaskList = listOf(Task).meta({ id: 'TaskList' });

export const AttemptList = z
  .object({
    object: z.literal('list'),
    data: z.array(
      z.object({
        id: z.string(),
        object: z.literal('attempt'),
        n: z.int(),
        outcome: z.enum(recordedOutcomes).nullable(),
        error: z.string().nullable().describe('The class of the error.'),
        status: z.int().nullable().describe("The provider's HTTP status, if it answered."),
        started_at: timestamp,
        submitted_at: timestampOrNull,
        ended_at: timestampOrNull,
      }),
    ),
  })
  .meta({ id: 'AttemptList' });
export type PublicAttempt = z.input<typeof AttemptList>['data'][number];

export const DeletedTask = z
  .object({ task_id: z.string(), object: z.literal('task'), deleted: z.literal(true) })
  .meta({ id: 'DeletedTask' });
