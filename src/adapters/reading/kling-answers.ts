import type { UpstreamOutput } from '../../domain/channels/upstream.ts';
import type { WordTable } from './error-words.ts';
import { fieldsOf, isEmpty, asText, innerOf } from './fields.ts';
import { firstFiles, mediaAnswers } from './media-answers.ts';

/**
 * Kling's service codes, and the prose of a failed task, which has no code
 * (https://app.klingai.com/global/dev/document-api/apiReference/commonInfo, read on 2026-11-21;
 * https://cloud.baidu.com/doc/qianfan-api/s/4mwbl4bz4, which repeats the codes, read on 2026-11-26).
 */
export const klingWords: WordTable = {
  codes: {
    content_policy: ['1301'],
    account: ['1000', '1001', '1002', '1003', '1004', '1100', '1101', '1102', '1103', '1304'],
    rate_limit: ['1302', '1303'],
    overloaded: ['5000', '5001', '5002'],
    invalid: ['1200', '1201', '1202'],
    unknown_model: ['1203'],
  },
  phrases: {
    content_policy: [
      /\bfailure to pass the risk control system\b/i,
      /\btriggers? (?:the )?content security policy\b/i,
      /\b(?:violates?|violating) (?:the |our )?(?:content policy|content policies|community guidelines)\b/i,
    ],
    rate_limit: [/\bparallel task over resource pack limit\b/i],
  },
};

/** Answers as `{code, message, data: {task_id, task_status, task_result: {images, videos}}}`. */
export const klingAnswers = mediaAnswers({
  noun: 'the task',
  words: klingWords,
  isOwnError(json) {
    const { code, message } = fieldsOf(json);
    return typeof code === 'number' && code > 0 && code < 1_000_000 && typeof message === 'string';
  },
  id: (json) => innerOf(json, 'data')['task_id'],
  providerJob(json) {
    const data = innerOf(json, 'data');
    const made = data['task_result'];
    const reason = asText(data['task_status_msg']);
    const results = isEmpty(made) ? [data['videos'], data['images'], data['video_url'], data['url']] : [made];
    return {
      state: data['task_status'] ?? data['status'],
      results,
      outputs: firstFiles(results).map(asKlingClip),
      failure: { codes: [], prose: reason === undefined ? [] : [reason] },
    };
  },
});

const asKlingClip = (file: UpstreamOutput): UpstreamOutput =>
  file.kind === 'video' ? { mimeType: 'video/mp4', ...file } : file;
