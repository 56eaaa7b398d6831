import type { AttemptReport, ChannelDraw, FinishReport, TaskOutcome } from '../domain/tasks/workflow-contract.ts';
import { attemptOn, type AttemptScope } from './attempt-on.ts';

/** The attempt has ended the task. */
export interface Ended {
  kind: 'ended';
  end: FinishReport;
}

/** How the calls of drawn channels ended. */
export interface TriesReport {
  /** Null if every call was transient or skipped, so that other channels may be tried. */
  outcome: TaskOutcome | Ended | null;
  /** The calls that were made. */
  attempts: number;
  /** Whether a channel was skipped: it has tripped since the draw, or is running its only permitted call. */
  skipped: boolean;
}

/** Calls the drawn channels in order until one succeeds or refuses the request, or none is left. */
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
      return failed(report.code ?? 'upstream_failed');
    case 'unknown':
      return { kind: 'failed', code: 'upstream_outcome_unknown', unknown: true };
    case 'deadline':
    case 'over':
      return failed('task_timeout');
    case 'canceled':
      return { kind: 'canceled' };
  }
}

export const failed = (code: Extract<TaskOutcome, { kind: 'failed' }>['code']): TaskOutcome => ({
  kind: 'failed',
  code,
  unknown: false,
});
