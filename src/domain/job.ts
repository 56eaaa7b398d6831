import type { JsonObject } from './json.ts';

/** What runs by itself, and what a scheduler may ask for (spec §4.8). */
export const jobNames = [
  'process-pending-callbacks',
  'check-stale-media-tasks',
  'check-api-channels',
  'scheduled-maintenance',
] as const;
export type JobName = (typeof jobNames)[number];

/** Who set a run off: its Schedule, the internal endpoint, a worker's own loop, the command line. */
export type JobTrigger = 'schedule' | 'endpoint' | 'loop' | 'operator';

/** `requested`: somebody is about to run it. `lost`: whoever ran it is gone, and its lock is free again. */
export type JobState = 'requested' | 'running' | 'succeeded' | 'failed' | 'lost';

/** Counts of what a run did, by name. */
export type JobSummary = JsonObject;

/** The id of a job's Schedule, and the beginning of the ids of its workflows. */
export const scheduleIdOf = (name: JobName): string => `job:${name}`;
