import { z } from 'zod';
import { scopes } from '../../../domain/scope.ts';
import { listOf } from './list.ts';
import { time } from './task.ts';

const Budget = z.object({
  period: z.enum(['lifetime', 'daily', 'monthly']).describe('Days and months are UTC.'),
  limit: z.int(),
  spent: z.int(),
  reserved: z.int().describe('Held for requests that run.'),
  remaining: z.int(),
  renews_at: time.nullable(),
});

export const Key = z
  .object({
    object: z.literal('key'),
    key_id: z.string(),
    name: z.string(),
    metadata: z.record(z.string(), z.string()),
    project_id: z.string(),
    scopes: z.array(z.enum(scopes)),
    models: z.array(z.string()).nullable().describe('Null: every model.'),
    expires_at: time.nullable(),
    rpm: z
      .object({ limit: z.int().nullable(), remaining: z.int().nullable() })
      .describe('POST requests in any 60 seconds. Null: no limit.'),
    budgets: z.array(Budget).describe('The budgets that the key has.'),
    in_flight: z.object({ limit: z.int().nullable(), now: z.int() }).describe('Tasks and chats that run.'),
    balance: z
      .object({
        available: z.int(),
        reserved: z.int(),
        low: z.boolean().describe('It lasts for less than three days, by the last seven full days.'),
      })
      .describe('The credits of the project.'),
  })
  .meta({ id: 'Key' });

export const RotatedKey = z.object({
  object: z.literal('key'),
  key_id: z.string(),
  api_key: z.string().describe('The new secret. It is shown only here.'),
  previous_until: time.describe('Unix seconds: until then the previous secret works as well.'),
});

export const LedgerList = listOf(
  z
    .object({
      entry_id: z.string(),
      at: time,
      kind: z.enum(['topup', 'settle', 'refund', 'adjust']),
      credits: z.int().describe('Negative if the entry takes credits.'),
      balance_after: z.int().describe('The balance before plus `credits`, reserved credits included.'),
      task_id: z.string().nullable(),
      request_id: z.string().nullable().describe('The `x-request-id` of a chat.'),
      key_id: z.string().nullable(),
      reference: z.string().nullable().describe("The operator's reference of a top-up or reason of an adjustment."),
    })
    .meta({ id: 'LedgerEntry' }),
);

const Sums = z.object({
  requests: z.int(),
  succeeded: z.int(),
  failed: z.int(),
  credits: z.int().describe('Charged, less what was given back.'),
  input_tokens: z.int(),
  output_tokens: z.int(),
});

export const Usage = z
  .object({
    object: z.literal('list'),
    data: z.array(
      Sums.extend({ day: z.string().nullable(), model: z.string().nullable(), key_id: z.string().nullable() }),
    ),
    total: Sums,
  })
  .meta({ id: 'Usage' });
