import type { AttemptEnd, AttemptMemory } from '../../../db/attempts.ts';
import type { JsonObject } from '../../../domain/json.ts';
import type { Operation } from '../../../channels/channel.ts';
import type { Attempt, UpstreamOutput } from '../../../domain/upstream.ts';
import type { AttemptReport } from '../../../domain/workflow-contract.ts';

/** The attempt row and the fencing token under which this run may write to it. */
export type AttemptHolder = Pick<AttemptMemory, 'attemptId' | 'fence'>;

/** This run inserted the row. The upstream bills on accept, so this is the only stage from which a submit may follow. */
export interface FreshAttempt {
  stage: 'fresh';
  holder: AttemptHolder;
  /** When the row was asked for, by `performance.now()`. */
  begunAt: number;
}

/** A submit was sent, or may have been, and no answer to it is known. */
export interface UnansweredSubmit {
  stage: 'unanswered';
  holder: AttemptHolder;
  /** What this run's own submit came to; absent when an earlier run sent it. */
  submitted?: Extract<Attempt<Operation>, { kind: 'unknown' }>;
}

/** The upstream accepted the job and the row has its reference. */
export interface AcceptedJob {
  stage: 'accepted';
  holder: AttemptHolder;
  operation: JsonObject;
}

/** The job is done. Its results are still at the upstream, or in memory as `data:` URIs. */
export interface FinishedJob {
  stage: 'finished';
  holder: AttemptHolder;
  results: UpstreamOutput[];
}

/** The outcome is known and not written yet. */
export interface DecidedAttempt {
  stage: 'decided';
  holder: AttemptHolder;
  end: AttemptEnd;
}

/** Nothing is left to do: this is what the workflow is told. */
export interface ReportedAttempt {
  stage: 'reported';
  report: AttemptReport;
}

export type Ending = DecidedAttempt | ReportedAttempt;

export const decided = (holder: AttemptHolder, end: AttemptEnd): DecidedAttempt => ({ stage: 'decided', holder, end });
export const reported = (report: AttemptReport): ReportedAttempt => ({ stage: 'reported', report });
