import { proxyActivities } from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import { taskQueues, type ScheduledJobInput } from '../domain/tasks/workflow-contract.ts';

/**
 * One scheduled run of a job. The database has its lock and its record. If the worker dies or the run fails, this workflow
 * retries it, and the Schedule skips its turns meanwhile.
 */
export async function job({ name, heartbeatTimeoutMs }: ScheduledJobInput): Promise<string> {
  const { runJob } = proxyActivities<Activities>({
    taskQueue: taskQueues.scheduledJobs,
    startToCloseTimeout: '1 hour',
    heartbeatTimeout: heartbeatTimeoutMs,
    retry: { initialInterval: '5 seconds', backoffCoefficient: 2, maximumInterval: '1 minute', maximumAttempts: 5 },
    summary: name,
  });
  const result = await runJob(name);
  return result.ran ? result.runId : 'already_running';
}
