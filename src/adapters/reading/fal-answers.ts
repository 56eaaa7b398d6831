import type { PollResult, UpstreamOutput } from '../../domain/channels/upstream.ts';
import type { WordTable } from './error-words.ts';
import { fieldsOf, flagOf, isEmpty, asList, type Fields } from './fields.ts';
import { filesIn } from './files.ts';
import { pollResultOf } from './provider-job-report.ts';
import type { NamedState } from './provider-job-state.ts';
import { firstFiles, mediaAnswers, failureReasonOf, type MediaAnswers } from './media-answers.ts';
import { problemOf } from './problem.ts';

/**
 * fal's types of errors (https://fal.ai/docs/documentation/model-apis/errors and …/request-errors, read on 2026-11-21). An empty account
 * is told in prose only: "User is locked. Reason: Exhausted balance."
 */
export const falWords: WordTable = {
  codes: {
    content_policy: ['content_policy_violation'],
    no_output: ['no_media_generated'],
    // A partner of fal failed. The request is valid, so another channel may succeed.
    failure: ['downstream_service_error', 'downstream_service_unavailable'],
  },
  phrases: { account: [/\bexhausted balance\b/i, /\buser is locked\b/i] },
};

const answers = mediaAnswers({
  noun: 'the request',
  words: falWords,
  isOwnError(json) {
    const { detail } = fieldsOf(json);
    return typeof detail === 'string' || (Array.isArray(detail) && typeof fieldsOf(detail)['type'] === 'string');
  },
  id: (json) => fieldsOf(json)['request_id'],
  providerJob(json) {
    const root = fieldsOf(json);
    return { state: root['status'], results: resultParts(root), failure: problemOf(json) ?? { codes: [], prose: [] } };
  },
});

/** Answers as `{status}` of the queue, and the result of the app, which has no state. */
export interface FalAnswers extends MediaAnswers {
  /** The result of a completed request. `hasError`: its status reported an error. */
  output: (json: unknown, hasError: boolean) => PollResult;
  /** What the status of a request says. `completed`: the result is to be fetched. */
  status: (json: unknown) => PollResult | { kind: 'completed'; hasError: boolean } | null;
}

export const falAnswers: FalAnswers = {
  ...answers,
  status(json) {
    const state = answers.state(json);
    const result = answers.result(json);
    if (state !== 'succeeded' || result?.kind === 'done') return result;
    const { error, error_type } = fieldsOf(json);
    return { kind: 'completed', hasError: !isEmpty(error) || !isEmpty(error_type) };
  },
  output(json, hasError) {
    const root = fieldsOf(json);
    const results = resultParts(root);
    const { outputs, isFlagged } = visibleFiles(root, results);
    const problem = problemOf({ error: root['error'], detail: root['detail'] });
    const isFailed = outputs.length === 0 && (hasError || problem !== null);
    const named: NamedState = isFailed ? { state: 'failed', word: 'with an error' } : { state: 'succeeded', word: '' };
    const reason = failureReasonOf(problem ?? { codes: [], prose: [] }, falWords);
    const withheld = isFlagged ? 'every image was flagged' : undefined;
    return (
      pollResultOf({ json, noun: 'the request', named, outputs, results, withheld, reason }) ?? {
        kind: 'unclear',
        detail: 'unreadable',
      }
    );
  },
};

/** Where apps put their results. Other members are searched too, after these. */
const resultKeys = ['images', 'image', 'videos', 'video', 'output', 'outputs', 'result', 'results', 'data'] as const;

function resultParts(root: Fields): unknown[] {
  const named = Object.fromEntries(resultKeys.filter((key) => !isEmpty(root[key])).map((key) => [key, root[key]]));
  const { error: _error, detail: _detail, status: _status, ...others } = root;
  const rest = Object.fromEntries(Object.entries(others).filter(([key]) => !shownKeys.test(key)));
  return Object.keys(named).length > 0 ? [named, rest] : [filesIn(rest).length > 0 ? rest : undefined];
}
/** Members of results and states that are only shown. */
const shownKeys =
  /^(?:prompt|seed|timings|metrics|logs|has_nsfw_concepts|request_id|queue_position|error_type|(?:status|response|cancel)_url)$/;

/** The files that fal did not blacken. It has one flag for each image. */
function visibleFiles(root: Fields, results: readonly unknown[]): { outputs: UpstreamOutput[]; isFlagged: boolean } {
  const flags = asList(root['has_nsfw_concepts']).map((flag) => flagOf(flag) === true);
  const images = [...asList(root['images']), ...asList(root['image'])];
  const flagged = new Set(
    images.filter((_, index) => flags[index]).flatMap((image) => filesIn(image).map(({ url }) => url)),
  );
  const outputs = firstFiles(results).filter(({ url }) => !flagged.has(url));
  return { outputs, isFlagged: outputs.length === 0 && flagged.size > 0 };
}
