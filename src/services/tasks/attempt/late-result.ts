import { isAnsweredSynchronously } from '../../../adapters/channel.ts';
import { lastProviderJobOf } from '../../../db/tasks/adopt-result.ts';
import type { Deps } from '../../../deps.ts';
import { fittingOutputs } from '../../../domain/tasks/fitting-outputs.ts';
import type { UpstreamOutput } from '../../../domain/channels/upstream.ts';
import type { TaskView } from '../../../domain/tasks/task-view.ts';
import { pausableTimeout } from '../../../platform/silence-timer.ts';
import { channelOfAttempt, removedCredential } from '../../channels/credential-of-attempt.ts';
import { usableCredential } from '../../channels/unseal-credential.ts';
import { OperatorError } from '../../operator-error.ts';

type LateDeps = Pick<Deps, 'adapters' | 'channels' | 'db' | 'logger' | 'sealer'>;

const latePollTimeoutMs = 30_000;

/**
 * Asks the provider once more for the result of a task's last job, which may have ended after the task. Reads only, and buys nothing.
 * Throws `OperatorError` if there is no such job, or the provider does not give its result.
 */
export async function lateResult(deps: LateDeps, task: Pick<TaskView, 'id' | 'type'>): Promise<UpstreamOutput> {
  const providerJob = await lastProviderJobOf(deps.db, task.id);
  if (!providerJob || isAnsweredSynchronously(providerJob.operation)) {
    throw new OperatorError(`No provider has a job of task ${task.id}. Give its result with --result.`);
  }
  const channel = await deps.channels.find(providerJob.channelId);
  const row = channel && (await channelOfAttempt(deps, channel, providerJob.attemptId));
  if (channel && !row) throw new OperatorError(`${task.id}: ${removedCredential}. Give the result with --result.`);
  const adapter = row && deps.adapters[row.adapter];
  const credential = row && usableCredential(deps, row);
  if (!row || !adapter?.pollMedia || credential === null) {
    throw new OperatorError(`The channel of task ${task.id} cannot be called. Give the result with --result.`);
  }
  const upstream = { channelId: row.id, baseUrl: row.baseUrl, credential };
  const polled = await adapter.pollMedia(upstream, providerJob.operation, {
    signal: pausableTimeout(latePollTimeoutMs),
  });
  if (polled.kind !== 'done') {
    const why = polled.kind === 'pending' ? 'it has not ended' : polled.detail;
    throw new OperatorError(`The provider gives no result of the job of task ${task.id}: ${why}.`);
  }
  const [result] = fittingOutputs(polled.outputs, task.type).kept;
  if (!result) throw new OperatorError(`The job of task ${task.id} ended without a result.`);
  return result;
}
