import { z } from 'zod';
import { timestamp, timestampOrNull } from '../../schemas/time.ts';
import { scheduledJobNames, scheduledJobStates, scheduledJobTriggers } from '../../domain/tasks/scheduled-job.ts';
import { runId } from './ids.ts';

const name = z.enum(scheduledJobNames);
const summary = z.record(z.string(), z.unknown()).describe('Counts of what the run did, by name.');

/** A run of a job, or a requested run. */
export const ListedRun = z
  .object({
    run_id: runId,
    name,
    trigger: z.enum(scheduledJobTriggers),
    state: z
      .enum(scheduledJobStates)
      .describe('`requested`: a worker is about to run it. `lost`: the process that ran it has ended.'),
    requested_at: timestamp,
    started_at: timestampOrNull,
    ended_at: timestampOrNull,
    summary: summary.nullable(),
  })
  .meta({ id: 'JobRun' });

export const RunResult = z.union([
  z
    .object({ run_id: runId, name, ran: z.literal(true), state: z.enum(['succeeded', 'failed']), summary })
    .meta({ id: 'EndedRun' }),
  z
    .object({
      name,
      ran: z.literal(false),
      reason: z.literal('already_running'),
      run_id: runId.describe('The run that is under way.'),
    })
    .meta({ id: 'RefusedRun' }),
]);

export const RunningScheduledJob = z.object({ run_id: runId.nullable(), name }).meta({ id: 'RunningJob' });
