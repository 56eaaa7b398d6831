import { z } from 'zod';
import { timestamp } from '../../schemas/time.ts';
import { AlarmSchema } from './alarms.ts';

const traffic = {
  requests: z.int(),
  succeeded: z.int(),
  failed: z.int(),
  credits: z.int().describe('Charged, less what was given back.'),
  cost_micro_usd: z.int(),
  margin_micro_usd: z.int(),
  p50_ms: z.number().nullable().describe('Of the requests that succeeded, exact to 3 %. Null if none did.'),
  p95_ms: z.number().nullable(),
};

const Traffic = z
  .object({
    ...traffic,
    refused: z
      .int()
      .describe(
        'Of the failed ones: the provider refused the request as invalid, too long or against its content policy.',
      ),
    left: z.int().describe('Of the failed ones: the client left, charged or not, or canceled.'),
    chat_p50_ms: z.number().nullable().describe('Of the chats that succeeded.'),
    media_p50_ms: z.number().nullable().describe('Of the tasks that succeeded.'),
  })
  .meta({ id: 'Traffic' });

export const OverviewSchema = z
  .object({
    at: timestamp,
    today: Traffic,
    yesterday: Traffic,
    hours: z
      .array(z.object({ at: timestamp, ...traffic }))
      .describe('Every hour from the beginning of yesterday to now.'),
    alarms: z.array(AlarmSchema),
  })
  .meta({ id: 'Overview' });
