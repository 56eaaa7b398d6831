import { clips } from './clips.ts';
import type { WordTable } from './error-words.ts';
import { fieldsOf, asText, innerOf } from './fields.ts';
import { mediaAnswers, type MediaAnswers } from './media-answers.ts';
import { hasWordedError, problemOf, type Problem } from './problem.ts';

/**
 * MiniMax's service codes (https://platform.minimax.io/docs/api-reference/errorcode, read on 2026-11-26; the bodies of
 * …/video-generation-v2-query and …-regeneration, read on 2026-11-22).
 */
export const minimaxWords: WordTable = {
  codes: {
    content_policy: ['1026', '1027'],
    account: ['1004', '1008', '2049', '2056'],
    rate_limit: ['1002', '1039', '2045'],
    overloaded: ['1001', '1013', '1024', '1033'],
    invalid: ['2013'],
  },
  phrases: { unknown_job: [/\brecord not found\b/i] },
};

const answers = mediaAnswers({
  noun: 'the task',
  words: minimaxWords,
  isOwnError: (json) => hasWordedError(json, 'type'),
  id: (json) => innerOf(json, 'task')['task_id'],
  providerJob(json) {
    const task = innerOf(json, 'task');
    const { code, message } = fieldsOf(task['error']);
    const results = [task['content'], task['video_url'], task['file'], task['output'], task['url']];
    return {
      state: task['status'],
      results,
      outputs: clips(results, task['duration']),
      failure: withBracketed({ codes: [asText(code) ?? ''], prose: [asText(message) ?? asText(task['error']) ?? ''] }),
    };
  },
});

/**
 * Answers as `{task: {status, content: {url}, error: {code, message}}}`. The service code of an error stands in brackets at the end of
 * the prose, "insufficient balance (1008)", or in `base_resp` as in the first version of the API.
 */
export const minimaxAnswers: MediaAnswers = {
  ...answers,
  error: (json, status) => {
    const bracketed = withBracketed(problemOf(json) ?? { codes: [], prose: [] }).codes.slice(-1);
    const [code] = bracketed;
    if (code === undefined || !/^\d{4}$/.test(code)) return answers.error(json, status);
    return answers.error(
      { error: { ...fieldsOf(fieldsOf(json)['error']), error_code: code }, base_resp: fieldsOf(json)['base_resp'] },
      status,
    );
  },
};

/** The problem with the code that its prose ends with. */
const withBracketed = ({ codes, prose }: Problem): Problem => {
  const found = prose.flatMap((text) => /\((\d{4})\)\s*$/.exec(text)?.[1] ?? []);
  return { codes: [...codes, ...found].filter((code) => code !== ''), prose };
};
