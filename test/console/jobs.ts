import { catalogJobs } from './catalog-jobs.ts';
import { firstCallJob } from './first-call-job.ts';
import { lookUpJobs } from './look-up-jobs.ts';
import { operationJobs } from './operation-jobs.ts';
import type { Job } from './scene.ts';

/** The everyday jobs of an operator, whole, in a browser alone. */
export const jobs: readonly Job[] = [...lookUpJobs, firstCallJob, ...catalogJobs, ...operationJobs];
