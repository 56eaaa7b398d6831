import { isObject } from '../../domain/json.ts';
import { readOpenaiError } from '../upstream/openai-error.ts';
import type { WordTable } from './error-words.ts';
import { fieldsOf, percentOf, asText } from './fields.ts';
import { mediaAnswers, type MediaAnswers } from './media-answers.ts';
import { openaiErrorReader } from './openai-answers.ts';

/** Our own codes (docs/API.md). */
export const tollgateWords: WordTable = {
  codes: {
    content_policy: ['content_policy_violation'],
    account: ['insufficient_credits', 'budget_exceeded', 'key_budget_exceeded'],
    overloaded: ['no_channel_available', 'service_unavailable'],
    invalid: [/^(?:invalid_\w{1,40}|missing_parameter|unknown_parameter|unsupported_parameter)$/i],
  },
};

const taskOf = (json: unknown) => {
  const root = fieldsOf(json);
  return !('status' in root) && isObject(root['data']) ? fieldsOf(root['data']) : root;
};

const answers = mediaAnswers({
  noun: 'the task',
  words: tollgateWords,
  isOwnError: (json) => readOpenaiError(json) !== null,
  id: (json) => taskOf(json)['task_id'],
  providerJob(json) {
    const task = taskOf(json);
    // The other gateway has refunded a failed task, so the next channel may try, unless the content policy refused the request.
    const code = asText(fieldsOf(task['error'])['code']) ?? asText(task['error']) ?? '';
    return {
      state: task['status'],
      progress: percentOf(task['progress']),
      results: [task['output'], task['outputs'], task['url'], task['data']],
      failure: { codes: [code], prose: [] },
    };
  },
});

/** Answers as `{task_id, status, progress, output: [{url, mime_type, …}], error: {code}}`. */
export const tollgateAnswers: MediaAnswers = { ...answers, error: openaiErrorReader(tollgateWords) };
