import type { PollResult, UpstreamOutput } from '../../domain/channels/upstream.ts';
import { plainWord, type ReadError } from '../upstream/classify-outcome.ts';
import { errorReader, meaningsOf, type WordTable } from './error-words.ts';
import { filesIn } from './files.ts';
import { providerJobId } from './provider-job-id.ts';
import { pollResultOf, type FailureReason } from './provider-job-report.ts';
import { namedState, type ProviderJobState, type NamedState } from './provider-job-state.ts';
import type { Problem } from './problem.ts';

/**
 * How the answers of one family about media jobs are read. Pure and total: whatever JSON comes, nothing throws. What decides is found
 * by the family's shape in all forms that providers and gateways are known to send; everything else is optional.
 */
export interface MediaAnswers {
  /** The error that a body of any status tells. */
  error: ReadError;
  /** The provider's id of the job, in the answer to a submit. */
  providerJobId: (json: unknown) => string | undefined;
  /** The state that an answer about a job names. */
  state: (json: unknown) => NamedState['state'];
  /** What an answer about a job says. Null if it has neither a state nor results. */
  result: (json: unknown) => PollResult | null;
}

/** Where one family has the parts of an answer about a job. */
export interface ProviderJobParts {
  /** The value that should be the word of the state. */
  state: unknown;
  progress?: number | undefined;
  /** The values in which results belong. The first with files counts. */
  results: readonly unknown[];
  /** The outputs, if the family reads them in a way of its own. */
  outputs?: UpstreamOutput[];
  /** Why the policy withheld the results. */
  withheld?: string | undefined;
  /** The codes and the prose of a failure. */
  failure: Problem;
}

export interface AnswerSpec {
  /** What the family calls a job, for details. */
  noun: string;
  words: WordTable;
  /** The words of states that mean something else in this family, in lower case. */
  states?: Readonly<Record<string, ProviderJobState>>;
  /** Whether an error is certainly from this provider, so that its 5xx means that nothing was bought. */
  isOwnError: (json: unknown) => boolean;
  /** The value that should be the id of a submitted job. */
  id: (json: unknown) => unknown;
  providerJob: (json: unknown) => ProviderJobParts;
}

/** The readers of a family, from where it has the parts of its answers. */
export function mediaAnswers({ noun, words, states = {}, isOwnError, id, providerJob }: AnswerSpec): MediaAnswers {
  return {
    error: errorReader(words, isOwnError),
    providerJobId: (json) => providerJobId(id(json)),
    state: (json) => namedState(providerJob(json).state, states).state,
    result(json) {
      const { state, results, outputs = firstFiles(results), failure, ...parts } = providerJob(json);
      const named = namedState(state, states);
      return pollResultOf({ json, noun, named, outputs, results, reason: failureReasonOf(failure, words), ...parts });
    },
  };
}

/** The files of the first value that has any. */
export const firstFiles = (values: readonly unknown[]): UpstreamOutput[] =>
  values.map((value) => filesIn(value)).find((files) => files.length > 0) ?? [];

/** Why a job failed, by the family's table. */
export function failureReasonOf(failure: Problem, words: WordTable): FailureReason {
  const code = failure.codes.map(plainWord).find((word) => word !== '') ?? '';
  const foundMeanings = meaningsOf(failure, words);
  const isPolicy = foundMeanings.includes('content_policy');
  return { code, means: isPolicy ? 'policy' : foundMeanings.includes('invalid') ? 'invalid' : 'failure' };
}
