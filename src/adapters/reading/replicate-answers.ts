import { isObject } from '../../domain/json.ts';
import type { WordTable } from './error-words.ts';
import { fieldsOf, asText } from './fields.ts';
import { mediaAnswers } from './media-answers.ts';

/**
 * Replicate gives the reason of a failure in prose (https://replicate.com/docs/topics/predictions/lifecycle and
 * …/docs/reference/error-codes, read on 2026-11-26): "NSFW content detected. …", "… flagged as sensitive. … (E005)".
 */
export const replicateWords: WordTable = {
  codes: { content_policy: ['E005'] },
  phrases: {
    content_policy: [/^(?:error: )?nsfw content (?:was )?detected\b/i, /\bwas flagged as sensitive\b/i, /\(E005\)/],
    account: [/\bfree time limit reached\b/i, /\binsufficient credit\b/i],
    rate_limit: [/\brequest was throttled\b/i],
  },
};

/** Answers as `{id, status, output, error}`. `output` depends on the model: a URL, a list, or an object with URLs. */
export const replicateAnswers = mediaAnswers({
  noun: 'the prediction',
  words: replicateWords,
  isOwnError: (json) => typeof fieldsOf(json)['detail'] === 'string',
  id: (json) => fieldsOf(json)['id'],
  providerJob(json) {
    const prediction = fieldsOf(json);
    const { error, output } = prediction;
    const prose =
      asText(error) ?? (isObject(error) ? (asText(error['message']) ?? asText(error['detail'])) : undefined);
    return {
      state: prediction['status'],
      results: [output],
      failure: { codes: [], prose: prose === undefined ? [] : [prose] },
    };
  },
});
