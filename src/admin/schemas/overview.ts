import { z } from 'zod';
import { timestamp } from '../../schemas/time.ts';
import { overviewRanges } from '../../domain/operators/overview-range.ts';
import { AlarmSchema } from './alarms.ts';
import { unknownCosts } from './costs.ts';

const traffic = {
  requests: z.int(),
  succeeded: z.int().describe('Without the charged chats whose client left, unlike in `usage`.'),
  failed: z.int().describe('All others that ended: also refused ones, and chats whose client left.'),
  credits: z.int().describe('Charged, less what was given back.'),
  cost_micro_usd: z.int(),
  margin_micro_usd: z.int(),
  p50_ms: z.number().nullable().describe('Of the requests that succeeded, exact to 3 %. Null if none did.'),
  p95_ms: z.number().nullable(),
};

const TrafficSchema = z
  .object({
    ...traffic,
    refused: z
      .int()
      .describe(
        'Of the failed ones: the provider refused the request as invalid, too long or against its content policy.',
      ),
    unknown_costs: unknownCosts,
    left: z.int().describe('Of the failed ones: the client left, charged or not, or canceled.'),
    chat_p50_ms: z.number().nullable().describe('Of the chats that succeeded.'),
    media_p50_ms: z.number().nullable().describe('Of the tasks that succeeded.'),
  })
  .meta({ id: 'Traffic' });

const RangeOverviewSchema = z
  .object({
    range: z.enum(overviewRanges),
    from: timestamp,
    to: timestamp,
    before_from: timestamp.describe('The range before begins here and ends at `from`.'),
    now: TrafficSchema,
    before: TrafficSchema,
    bars: z
      .array(z.object({ at: timestamp, until: timestamp, requests: z.int(), failed: z.int() }))
      .describe('Of 5 minutes, of an hour or of 6 hours, oldest first. The last one ends now.'),
    counted_from: timestamp
      .nullable()
      .describe('When the counting began, if that was after `before_from`: an earlier release kept two days.'),
  })
  .meta({ id: 'RangeOverview' });

export const OverviewSchema = z
  .object({
    at: timestamp,
    today: TrafficSchema,
    yesterday: TrafficSchema,
    hours: z
      .array(z.object({ at: timestamp, ...traffic }))
      .describe('Every hour from the beginning of yesterday to now.'),
    alarms: z.array(AlarmSchema),
    range: RangeOverviewSchema.nullable().describe('With `range`: the last hour, day or week.'),
  })
  .meta({ id: 'Overview' });
