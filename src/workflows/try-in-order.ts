import type { AttemptReport, ChannelDraw, FinishReport, TaskOutcome } from '../domain/tasks/workflow-contract.ts';
import { attemptOn, type AttemptScope } from './attempt-on.ts';

/** The activity of the attempt has also written the end of the task, so that no other activity has to. */
export interface Ended {
  kind: 'ended';
  end: FinishReport;
}

/** What became of the drawn channels. */
export interface TriesReport {
  /** The end of the task; null if each channel failed in a way that lets another one try, or was skipped. */
  outcome: TaskOutcome | Ended | null;
  /** The channels that were called, without the skipped ones. */
  attempts: number;
  /** Whether a channel was skipped: it has tripped since the draw, or is running its only permitted call. */
  skipped: boolean;
}

/** Calls the drawn channels in order until a report ends the task, or none is left. */
export async function tryInOrder(scope: AttemptScope, channels: ChannelDraw['channels']): Promise<TriesReport> {
  let attempts = 0;
  let skipped = false;
  for (const channel of channels) {
    const report = await attemptOn(scope, channel);
    if (report.kind === 'skipped') {
      skipped = true;
      continue;
    }
    attempts += 1;
    const outcome = outcomeOf(report);
    if (outcome) return { outcome, attempts, skipped };
  }
  return { outcome: null, attempts, skipped };
}

/** The task's outcome after this report; null if the next channel may try. */
function outcomeOf(report: Exclude<AttemptReport, { kind: 'skipped' | 'parked' }>): TaskOutcome | Ended | null {
  switch (report.kind) {
    case 'ok':
      // A run that finds the recorded outcome of an earlier one does not know the task's end.
      return report.end ? { kind: 'ended', end: report.end } : { kind: 'succeeded' };
    case 'transient':
      return null;
    case 'refused':
      return failedOutcome(report.code ?? 'upstream_failed');
    case 'unknown':
      return { kind: 'failed', code: 'upstream_outcome_unknown', unknown: true };
    case 'deadline':
    case 'over':
      return failedOutcome('task_timeout');
    case 'canceled':
      return { kind: 'canceled' };
  }
}

export const failedOutcome = (code: Extract<TaskOutcome, { kind: 'failed' }>['code']): TaskOutcome => ({
  kind: 'failed',
  code,
  unknown: false,
});
