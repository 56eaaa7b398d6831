import { clips } from './clips.ts';
import type { WordTable } from './error-words.ts';
import { fieldsOf, asText, innerOf } from './fields.ts';
import { mediaAnswers } from './media-answers.ts';

/** DashScope's error codes (https://www.alibabacloud.com/help/en/model-studio/error-code, read on 2026-11-22). */
export const dashscopeWords: WordTable = {
  codes: {
    content_policy: [
      /^DataInspectionFailed$/i,
      /^data_inspection_failed$/i,
      /^IPInfringementSuspect(?:ed)?$/i,
      /^Inappropriate\w{0,40}$/i,
    ],
    account: [
      /^Arrearage$/i,
      /^\w{0,40}Overdue\w{0,20}$/i,
      /^AllocationQuota\.(?:FreeTierOnly|Exhausted)$/i,
      /^\w{0,40}(?:FreeTierOnly|\.?Unpurchased)$/i,
      /^(?:InvalidApiKey|AccessDenied\.Unpurchased)$/i,
    ],
    rate_limit: [/^Throttling(?:\.\w+)*$/i, /^LimitRequests$/i],
    overloaded: [/^(?:ModelServingError|ServiceUnavailable|InternalError\.Timeout)$/i],
    unknown_model: [/^(?:ModelNotFound|ModelNotExist|Model\.NotExist|model_not_found)$/i],
    invalid: [/^InvalidParameter(?:\.\w+)*$/i, /^BadRequest(?:\.\w+)*$/i, /^InvalidURL(?:\.\w+)*$/i],
  },
};

/** Answers as `{output: {task_id, task_status, video_url, code, message}, usage}`. An unknown task has the state `UNKNOWN`. */
export const dashscopeAnswers = mediaAnswers({
  noun: 'the task',
  words: dashscopeWords,
  states: { unknown: 'lost', suspended: 'running' },
  isOwnError(json) {
    const { code, message } = fieldsOf(json);
    return typeof code === 'string' && code !== '' && typeof message === 'string';
  },
  id: (json) => innerOf(json, 'output')['task_id'],
  providerJob(json) {
    const output = innerOf(json, 'output');
    const usage = fieldsOf(fieldsOf(json)['usage']);
    const results = [output['video_url'], output['results'], output['output'], output['url'], output['choices']];
    return {
      state: output['task_status'] ?? output['status'],
      results,
      outputs: clips(results, usage['output_video_duration'] ?? usage['video_duration']),
      failure: { codes: [asText(output['code']) ?? ''], prose: [asText(output['message']) ?? ''] },
    };
  },
});
