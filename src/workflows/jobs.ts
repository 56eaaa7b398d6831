import { proxyActivities } from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import { taskQueues, type JobInput } from '../domain/workflow-contract.ts';

/**
 * One scheduled run of a job. Its lock and its record are in the database; a run whose worker died, or whose command failed,
 * is tried again here while the Schedule skips its turns.
 */
export async function job({ name, heartbeatTimeoutMs }: JobInput): Promise<string> {
  const { runJob } = proxyActivities<Activities>({
    taskQueue: taskQueues.deliveries,
    startToCloseTimeout: '1 hour',
    heartbeatTimeout: heartbeatTimeoutMs,
    retry: { initialInterval: '5 seconds', backoffCoefficient: 2, maximumInterval: '1 minute', maximumAttempts: 5 },
    summary: name,
  });
  const result = await runJob(name);
  return result.ran ? result.runId : 'already_running';
}
