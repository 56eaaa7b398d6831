import type { JsonObject } from './json.ts';

/** The jobs that run by themselves and that a scheduler may trigger (spec §4.8). */
export const jobNames = [
  'process-pending-callbacks',
  'check-stale-media-tasks',
  'check-api-channels',
  'scheduled-maintenance',
] as const;
export type JobName = (typeof jobNames)[number];

/** What triggered a run: its Schedule, the internal endpoint, the loop in a worker, or the command line. */
export type JobTrigger = 'schedule' | 'endpoint' | 'loop' | 'operator';

/** `requested`: a worker is about to run it. `lost`: the process that ran it has ended and its lock is free again. */
export type JobState = 'requested' | 'running' | 'succeeded' | 'failed' | 'lost';

/** Counts of what a run did, by name. */
export type JobSummary = JsonObject;

/** The id of a job's Schedule, and the prefix of its workflow ids. */
export const scheduleIdOf = (name: JobName): string => `job:${name}`;
