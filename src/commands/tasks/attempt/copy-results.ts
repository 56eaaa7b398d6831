import { saveResult } from '../../../db/attempts.ts';
import type { UpstreamOutput } from '../../../domain/upstream.ts';
import { copyOutputs } from '../copy-outputs.ts';
import { giveUp, leaveToNewHolder } from './leave.ts';
import { AttemptInterrupted, type AttemptRun } from './run.ts';
import { decided, type AttemptHolder, type Ending, type FinishedJob, type ReportedAttempt } from './stages.ts';

/** Saves the addresses of the results, so that copying can resume. Inline results are too large for a row. */
export async function takeResults(
  run: AttemptRun,
  holder: AttemptHolder,
  results: UpstreamOutput[],
): Promise<FinishedJob | ReportedAttempt> {
  const isInline = results.some(({ url }) => url.startsWith('data:'));
  const ours = isInline || (await saveResult(run.deps.db, holder, results));
  return ours ? { stage: 'finished', holder, results } : leaveToNewHolder(run);
}

/** Copies the results into our file store before the upstream's links expire. A later run can start the copy again. */
export async function copyResults(run: AttemptRun, { holder, results }: FinishedJob): Promise<Ending> {
  const { deps, task, channel, signals, remainingMs } = run;
  const copied = await copyOutputs(deps, {
    attemptId: holder.attemptId,
    fence: holder.fence,
    projectId: task.projectId,
    taskId: task.taskId,
    type: task.type,
    results,
    channelBaseUrl: channel.row.baseUrl,
    channelHeaders: channel.adapter.outputHeaders?.(channel.upstream) ?? {},
    remainingMs,
    signal: AbortSignal.any([signals.canceled, signals.shutdown]),
  });
  switch (copied.kind) {
    case 'copied':
      return decided(holder, { outcome: 'ok', outputs: copied.outputs });
    case 'failed':
      return decided(holder, { outcome: 'refused', code: copied.code, errorClass: 'output', detail: copied.detail });
    case 'interrupted':
      if (signals.shutdown.aborted) throw new AttemptInterrupted('shutting down while copying outputs');
      return giveUp(run, holder);
  }
}
