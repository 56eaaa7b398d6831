import { z } from 'zod';
import { scopes } from '../domain/projects/scope.ts';
import { timestamp } from './time.ts';

const Budget = z.object({
  period: z.enum(['lifetime', 'daily', 'monthly']).describe('Days and months are UTC.'),
  limit: z.int(),
  spent: z.int(),
  reserved: z.int().describe('Held for requests that run.'),
  remaining: z.int(),
  renews_at: timestamp.nullable(),
});

export const OwnKey = z
  .object({
    object: z.literal('key'),
    key_id: z.string(),
    name: z.string(),
    metadata: z.record(z.string(), z.string()),
    project_id: z.string(),
    scopes: z.array(z.enum(scopes)),
    models: z.array(z.string()).nullable().describe('Null: every model.'),
    expires_at: timestamp.nullable(),
    rpm: z
      .object({ limit: z.int().nullable(), remaining: z.int().nullable() })
      .describe('POST requests in any 60 seconds. Null: no limit.'),
    budgets: z.array(Budget).describe('The budgets that the key has.'),
    in_flight: z.object({ limit: z.int().nullable(), now: z.int() }).describe('Tasks and chats that run.'),
    balance: z
      .object({
        available: z.int(),
        reserved: z.int(),
        overdraft: z.int().describe('How many credits below zero requests may take the balance; 0 for none.'),
        expiring: z
          .array(z.object({ credits: z.int(), expires_at: timestamp }))
          .describe(
            'What is left of credits that end, the first end first. Requests spend them in this order, before those that last.',
          ),
        low: z.boolean().describe('It lasts for less than three days, by the last seven full days.'),
      })
      .describe('The credits of the project.'),
  })
  .meta({ id: 'Key' });
export type PublicKey = z.input<typeof OwnKey>;

export const RotatedOwnKey = z.object({
  object: z.literal('key'),
  key_id: z.string(),
  api_key: z.string().describe('The new secret. It is shown only here.'),
  previous_until: timestamp.describe('Unix seconds: until then the previous secret works as well.'),
});
