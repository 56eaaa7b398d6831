import type { JsonObject } from '../json.ts';

/** The jobs that run by themselves and that a scheduler may trigger (spec §4.8; the last one is ours). */
export const scheduledJobNames = [
  'process-pending-callbacks',
  'check-stale-media-tasks',
  'check-api-channels',
  'scheduled-maintenance',
  'check-balances',
] as const;
export type ScheduledJobName = (typeof scheduledJobNames)[number];

/** What triggered a run: its Schedule, the internal endpoint, the loop in a worker, or the command line. */
export const scheduledJobTriggers = ['schedule', 'endpoint', 'loop', 'operator'] as const;
export type ScheduledJobTrigger = (typeof scheduledJobTriggers)[number];

/** `requested`: a worker is about to run it. `lost`: the process that ran it has ended and its lock is free again. */
export const scheduledJobStates = ['requested', 'running', 'succeeded', 'failed', 'lost'] as const;
export type ScheduledJobState = (typeof scheduledJobStates)[number];

/** Counts of what a run did, by name. */
export type ScheduledJobSummary = JsonObject;

/** The id of a job's Schedule, and the prefix of its workflow ids. */
export const scheduleIdOf = (name: ScheduledJobName): string => `job:${name}`;
