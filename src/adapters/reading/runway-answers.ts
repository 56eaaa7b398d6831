import type { WordTable } from './error-words.ts';
import { fieldsOf, percentOf, asText } from './fields.ts';
import { mediaAnswers } from './media-answers.ts';

/**
 * Runway's failure codes, of which `SAFETY` is a part if its moderation refused something, and the prose of its errors
 * (https://docs.dev.runwayml.com/errors/task-failures/ and …/errors/errors/, read on 2026-11-22).
 */
export const runwayWords: WordTable = {
  codes: {
    content_policy: [/^(?:\w{1,40}\.){0,5}SAFETY(?:\.\w{1,40}){0,5}$/i],
    // An input has a wrong format, size or length.
    invalid: [/^ASSET\.[\w.]{1,80}$/i],
  },
  phrases: {
    content_policy: [/\b(?:did not|didn't|does not|failed to) pass (?:our )?content moderation\b/i],
    account: [/\bnot have enough credits\b/i],
    unknown_model: [/\bmodel (?:variant )?.{0,100}\bnot (?:available|found)\b/i],
  },
};

/** Answers as `{id, status, progress, output: [url], failure, failureCode}`. */
export const runwayAnswers = mediaAnswers({
  noun: 'the task',
  words: runwayWords,
  isOwnError: (json) => typeof fieldsOf(json)['error'] === 'string',
  id: (json) => fieldsOf(json)['id'],
  providerJob(json) {
    const task = fieldsOf(json);
    return {
      state: task['status'],
      progress: percentOf(task['progress'], 'fraction'),
      results: [task['output'], task['outputs'], task['url'], task['video_url']],
      failure: { codes: [asText(task['failureCode']) ?? ''], prose: [asText(task['failure']) ?? ''] },
    };
  },
});
