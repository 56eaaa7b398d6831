import type { WordTable } from './error-words.ts';
import { fieldsOf, asText } from './fields.ts';
import { clips } from './clips.ts';
import { mediaAnswers } from './media-answers.ts';
import { hasWordedError } from './problem.ts';

/** Ark's error codes (https://docs.byteplus.com/en/docs/ModelArk/1299023, read on 2026-11-21). */
export const seedanceWords: WordTable = {
  codes: {
    content_policy: [
      /^(?:Input|Output)?(?:Text|Image|Video|Audio)?SensitiveContentDetected(?:\.\w+)*$/i,
      /^(?:Input|Output)?(?:Text|Image|Video|Audio)?RiskDetection(?:\.\w+)*$/i,
      /^\w{1,60}\.PolicyViolation$/i,
    ],
    account: [/^AccountOverdue(?:Error)?$/i, /^(?:Quota|SetLimit)Exceeded(?:\.\w+)*$/i, 'AuthenticationError'],
    // Of an endpoint, a model or the account, by requests, tokens or pictures: each has a code of its own.
    rate_limit: ['ServerOverloaded', 'RequestBurstTooFast', /^\w{0,40}RateLimitExceeded(?:\.\w+)*$/i],
    overloaded: ['ServiceUnavailable'],
    unknown_model: [/^ModelNotOpen$/i, /^InvalidEndpoint(?:OrModel)?(?:\.\w+)*$/i, /^UnsupportedModel$/i],
    invalid: [/^(?:InvalidParameter|MissingParameter)(?:\.\w+)*$/i],
  },
};

/** Answers as `{id, status, content: {video_url}, error: {code, message}}`. */
export const seedanceAnswers = mediaAnswers({
  noun: 'the task',
  words: seedanceWords,
  isOwnError: (json) => hasWordedError(json),
  id: (json) => fieldsOf(json)['id'],
  providerJob(json) {
    const task = fieldsOf(json);
    const { code, message } = fieldsOf(task['error']);
    const results = [task['content'], task['video_url'], task['output'], task['result'], task['data']];
    return {
      state: task['status'],
      results,
      outputs: clips(results, task['duration']),
      failure: { codes: [asText(code) ?? ''], prose: [asText(message) ?? asText(task['error']) ?? ''] },
    };
  },
});
