import type { AttemptEnd, AttemptMemory } from '../../../db/tasks/attempts.ts';
import type { CopiedFile } from '../../../db/ledger/ledger.ts';
import type { JsonObject } from '../../../domain/json.ts';
import type { ProviderRef } from '../../../adapters/channel.ts';
import type { Attempt, UpstreamOutput } from '../../../domain/channels/upstream.ts';
import type { AttemptReport } from '../../../domain/tasks/workflow-contract.ts';

/** The attempt row and the fencing token under which this run may write to it. */
export type AttemptHolder = Pick<AttemptMemory, 'attemptId' | 'fence'>;

/** This run inserted the row. The upstream bills on accept, so this is the only stage from which a submit may follow. */
export interface FreshAttempt {
  stage: 'fresh';
  holder: AttemptHolder;
  /** The time before the row was inserted, by `performance.now()`. */
  begunAt: number;
}

/** A submit was or may have been sent, and its answer is unknown. */
export interface UnansweredSubmit {
  stage: 'unanswered';
  holder: AttemptHolder;
  /** The result of this run's own submit; absent if an earlier run sent the submit. */
  submitted?: Extract<Attempt<ProviderRef>, { kind: 'unknown' }>;
}

/** The upstream accepted the job and the row has its reference. */
export interface AcceptedSubmit {
  stage: 'accepted';
  holder: AttemptHolder;
  providerRef: JsonObject;
  /** An earlier run saved the reference. */
  resumed: boolean;
}

/** The job is done. Its results are at the upstream, or in memory as `data:` URIs. */
export interface FinishedProviderJob {
  stage: 'finished';
  holder: AttemptHolder;
  results: UpstreamOutput[];
  /** The provider answered the submit with the results, so only this process has them: a shutdown must not interrupt their copy. */
  synchronous?: true;
}

/** The results are in our file store. The outcome `ok` and the end of the task are not written yet. */
export interface CopiedResults {
  stage: 'copied';
  holder: AttemptHolder;
  files: CopiedFile[];
}

/** The outcome is known and not written yet. */
export interface DecidedAttempt {
  stage: 'decided';
  holder: AttemptHolder;
  end: AttemptEnd;
}

/** The attempt is over, with its report to the workflow. */
export interface ReportedAttempt {
  stage: 'reported';
  report: AttemptReport;
}

export type Ending = DecidedAttempt | ReportedAttempt;

export const decided = (holder: AttemptHolder, end: AttemptEnd): DecidedAttempt => ({ stage: 'decided', holder, end });
export const reported = (report: AttemptReport): ReportedAttempt => ({ stage: 'reported', report });
