import { z } from 'zod';
import { GatewayError } from '../../domain/errors.ts';
import type { JsonObject } from '../../domain/json.ts';
import { taskTypes } from '../../domain/tasks/task.ts';
import { JsonRecord } from '../dialects/chat-fields.ts';

/** What a call may cost if the agent says nothing, in micro-USD: any picture and some short clips, but not the dearer videos. */
export const CALL_COST_MAX = 1_000_000;
/** Clients of the protocol give up after 60 seconds. */
const WAIT_SECONDS_MAX = 50;
const WAIT_SECONDS_DEFAULT = 30;

const waitSeconds = z.int().min(0).max(WAIT_SECONDS_MAX).default(WAIT_SECONDS_DEFAULT);

export const ModelsArguments = z.object({
  type: z.enum(taskTypes).optional().describe('Only models of this type.'),
  model: z.string().optional().describe('The id of one model, to see its parameters.'),
});

export const QuoteArguments = z.object({
  model: z.string().describe('The id of a model, from list_models.'),
  prompt: z.string().describe('What the result shows.'),
  parameters: z
    .looseObject({})
    .default({})
    .describe(
      'Further parameters of the model by name, such as aspect_ratio, or image with a URL. list_models shows those of one model.',
    ),
});

export const CreateArguments = QuoteArguments.extend({
  max_credits: z
    .int()
    .min(1)
    .optional()
    .describe(
      'The most that this call may cost; without it, credits for one US dollar. A dearer one is refused with its price, and costs nothing.',
    ),
  wait_seconds: waitSeconds.describe('How long to wait for the result.'),
  idempotency_key: z
    .string()
    .regex(/^[\x20-\x7e]{1,255}$/, 'must be 1 to 255 printable ASCII characters')
    .optional()
    .describe('A name of your own for this purchase. A repeated call with it returns the same task and buys nothing.'),
});

export const ReadArguments = z.object({
  task_id: z.string().describe('The task_id of a result.'),
  wait_seconds: waitSeconds.describe('How long to wait for the end of the task.'),
});

/** The body of a create request under `/api/v1` that says the same. Throws `invalid_value` if `parameters` repeats an argument. */
export function createBodyOf({ model, prompt, parameters }: z.output<typeof QuoteArguments>): JsonObject {
  const repeated = Object.keys(CreateArguments.shape).find((name) => Object.hasOwn(parameters, name));
  if (repeated !== undefined) {
    const message = `parameters.${repeated} is not accepted: ${repeated} is an argument of the tool itself.`;
    throw new GatewayError('invalid_value', { message, param: `parameters.${repeated}` });
  }
  return JsonRecord.parse({ ...parameters, model, prompt });
}
