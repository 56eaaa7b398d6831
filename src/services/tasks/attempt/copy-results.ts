import { saveResult, type AttemptEnd } from '../../../db/tasks/attempts.ts';
import type { TaskErrorCode } from '../../../domain/tasks/task.ts';
import { sealResults } from './kept-results.ts';
import { fittingOutputs } from '../../../domain/tasks/fitting-outputs.ts';
import { copyOutputs, outputsMax, planCopies } from './copy-outputs.ts';
import { giveUp, leaveToNewHolder } from './leave.ts';
import { patiently } from './patiently.ts';
import { AttemptInterrupted, type AttemptRun } from './run.ts';
import { decided, type CopiedResults, type Ending, type FinishedProviderJob } from './stages.ts';

/**
 * Saves the addresses of the results and the rows of their files, then copies the results into our file store before the upstream's
 * links expire. A later run can start the copy again, unless the provider has sent the results with its answer to the submit.
 */
export async function copyResults(
  run: AttemptRun,
  { holder, results: reported, synchronous }: FinishedProviderJob,
): Promise<CopiedResults | Ending> {
  const { deps, task, channel, signals, remainingMs } = run;
  const { kept: results, left } = fittingOutputs(reported, task.type);
  if (left.length > 0) {
    const facts = { task_id: task.taskId, channel: channel.row.name, files: left.length };
    deps.logger.info(facts, 'files beside the results were left out');
  }
  const keptAddresses = () => ({ sealedResult: sealResults(deps, holder.attemptId, results) });
  if (results.length > outputsMax) {
    const end = unusable('upstream_invalid_response', 'the job returned more results than allowed');
    return decided(holder, { ...end, ...keptAddresses() });
  }
  const copies = planCopies(holder, results);
  // Inline results are too large for a row.
  const isInline = results.some(({ url }) => url.startsWith('data:'));
  const interruptions = isInline && synchronous ? [signals.canceled] : [signals.canceled, signals.shutdown];
  const files = {
    projectId: task.projectId,
    taskId: task.taskId,
    drafts: copies.map(({ draft }) => draft),
    keptSeconds: deps.config.retention.contentSeconds,
  };
  const ours = await patiently(run, () => saveResult(deps.db, holder, isInline ? null : results, files));
  if (!ours) return leaveToNewHolder(run, holder);
  const copied = await copyOutputs(deps, {
    taskId: task.taskId,
    type: task.type,
    copies,
    channelBaseUrl: channel.row.baseUrl,
    channelHeaders: channel.adapter.outputHeaders?.(channel.upstream) ?? {},
    remainingMs,
    signal: AbortSignal.any(interruptions),
  });
  switch (copied.kind) {
    case 'copied':
      return { stage: 'copied', holder, files: copied.files };
    case 'failed':
      return decided(holder, { ...unusable(copied.code, copied.detail), ...keptAddresses() });
    case 'interrupted':
      if (signals.canceled.aborted) return giveUp(run, holder);
      throw new AttemptInterrupted('shutting down while copying outputs');
  }
}

const unusable = (code: TaskErrorCode, detail: string): AttemptEnd => ({
  outcome: 'refused',
  code,
  errorClass: 'output',
  detail,
});
