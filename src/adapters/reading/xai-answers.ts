import type { UpstreamOutput } from '../../domain/channels/upstream.ts';
import { readOpenaiError } from '../upstream/openai-error.ts';
import type { ResultReader } from '../media/media-calls.ts';
import { clips } from './clips.ts';
import type { WordTable } from './error-words.ts';
import { fieldsOf, flagOf, asList, percentOf, asText } from './fields.ts';
import { mediaAnswers, type MediaAnswers } from './media-answers.ts';
import { openaiErrorReader, readOpenaiImages } from './openai-answers.ts';

/**
 * xAI's codes, and its prose for a flagged prompt and an empty account (https://docs.x.ai/developers/model-capabilities, read on
 * 2026-11-22; UKGovernmentBEIS/inspect_ai#2267 and griptape-ai/griptape-nodes-engine#1079).
 */
export const xaiWords: WordTable = {
  codes: {
    content_policy: ['content_policy'],
    account: ['insufficient_credits'],
    invalid: [/^invalid[_-][\w-]{1,60}$/i, 'Client specified an invalid argument'],
  },
  phrases: {
    content_policy: [/\bviolates? (?:our |the |xai'?s? )?usage guidelines\b/i, /\bSAFETY_CHECK_TYPE_\w/],
    account: [/\bspending limit\b/i],
    rate_limit: [/\bsome resource has been exhausted\b/i],
  },
};

const answers = mediaAnswers({
  noun: 'the request',
  words: xaiWords,
  isOwnError: (json) => readOpenaiError(json) !== null,
  id: (json) => fieldsOf(json)['request_id'],
  providerJob(json) {
    const root = fieldsOf(json);
    const video = fieldsOf(root['video']);
    const isWithheld = flagOf(video['respect_moderation']) === false;
    const results = [root['video'], root['videos'], root['url'], root['video_url'], root['output'], root['data']];
    const error = fieldsOf(root['error']);
    return {
      state: root['status'],
      progress: percentOf(root['progress']),
      results,
      outputs: isWithheld ? [] : clips(results, video['duration']),
      withheld: isWithheld ? 'the clip was withheld by moderation' : undefined,
      failure: {
        codes: [asText(error['code']) ?? ''],
        prose: [asText(error['message']) ?? asText(root['error']) ?? ''],
      },
    };
  },
});

/** Answers as `{request_id}`, then `{status, progress, video: {url, duration, respect_moderation}, error}`. */
export const xaiAnswers: MediaAnswers = { ...answers, error: openaiErrorReader(xaiWords) };

/** The images that moderation did not withhold. */
export const readXaiImages: ResultReader = (json) => {
  const root = fieldsOf(json);
  const images = asList(root['data']);
  const clean = images.filter((image) => flagOf(fieldsOf(image)['respect_moderation']) !== false);
  const files: UpstreamOutput[] | null = readOpenaiImages('data' in root ? { ...root, data: clean } : root);
  return files?.length === 0 && clean.length < images.length ? 'withheld' : files;
};
