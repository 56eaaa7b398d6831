import { isObject } from '../../domain/json.ts';
import type { UpstreamOutput } from '../../domain/channels/upstream.ts';
import type { ReadError } from '../upstream/classify-outcome.ts';
import { readOpenaiError } from '../upstream/openai-error.ts';
import { asClip } from './clips.ts';
import { errorReader, meaningsOf, type WordTable } from './error-words.ts';
import { fieldsOf, percentOf, asText, type Fields } from './fields.ts';
import { filesIn } from './files.ts';
import { providerJobId } from './provider-job-id.ts';
import { mediaAnswers, type MediaAnswers } from './media-answers.ts';

/**
 * OpenAI's codes for images and videos (https://platform.openai.com/docs/guides/error-codes and …/guides/image-generation, read on
 * 2026-11-21), OpenRouter's, and the words of `readOpenaiError` for what vendors say in numbers and prose.
 */
export const openaiWords: WordTable = {
  codes: {
    content_policy: [
      /^(?:content_policy|content_policy_violation|image_content_policy_violation|moderation_blocked|content_filter(?:ed)?)$/i,
      /^(?:invalid_prompt|bio_policy|misalignment_policy_violation|data_inspection_failed)$/i,
    ],
    in_flight: ['openrouter_in_flight_budget', 'in_flight_budget_exhausted'],
    account: [/^(?:billing|insufficient_(?:quota|balance|credits))$/i],
    invalid: ['missing_required_parameter', 'unknown_parameter', 'unsupported_value', 'unsupported_parameter'],
  },
};

/** Reads errors of OpenAI's form with its own table and with what `readOpenaiError` knows of vendors. */
export function openaiErrorReader(words: WordTable): ReadError {
  const read = errorReader(words, (json) => readOpenaiError(json) !== null);
  return (json, status) => {
    const own = read(json, status);
    const vendor = own && readOpenaiError(json);
    return vendor ? [...new Set([...own, ...meaningsOf({ codes: vendor, prose: [] }, words)])] : own;
  };
}

/** Where gateways put the address of a finished clip, which OpenAI itself serves at `/content`. */
const addressKeys = [
  'video_url',
  'url',
  'video',
  'videos',
  'output',
  'outputs',
  'result',
  'results',
  'data',
  'generations',
] as const;
const resultsIn = (video: Fields): unknown[] =>
  addressKeys
    .map((key) => video[key])
    .filter((value) => filesIn(value).some(({ kind }) => kind !== 'image' && kind !== 'other'));

const answers = mediaAnswers({
  noun: 'the video',
  words: openaiWords,
  isOwnError: (json) => readOpenaiError(json) !== null,
  id: (json) => videoOf(json)['id'],
  providerJob(json) {
    const video = videoOf(json);
    const error = video['error'];
    const results = resultsIn(video);
    return {
      state: video['status'],
      progress: percentOf(video['progress']),
      results,
      outputs: filesIn(results[0], 'video').map(asClip),
      failure: { codes: [asText(fieldsOf(error)['code']) ?? '', asText(fieldsOf(error)['type']) ?? ''], prose: [] },
    };
  },
});

/** The video object, also in the `data` or `video` of a gateway that wraps it. */
function videoOf(json: unknown): Fields {
  const root = fieldsOf(json);
  const inner = [root['data'], root['video']].find(
    (each) => isObject(each) && ('status' in each || providerJobId(each['id']) !== undefined),
  );
  return 'status' in root || inner === undefined ? root : fieldsOf(inner);
}

/** Answers as `{id, status, progress, error: {code}}`. The clip is at `/content`, or at an address that the status gives. */
export const openaiAnswers: MediaAnswers = { ...answers, error: openaiErrorReader(openaiWords) };

/** The outputs of an images reply, as data URIs or URLs. Null for an answer without a list of images. */
export function readOpenaiImages(json: unknown): UpstreamOutput[] | null {
  const root = fieldsOf(json);
  const parts = [root['data'], root['images'], root['image'], root['output'], root['url'], root['b64_json']];
  const files = parts.map((part) => filesIn(wrapped(part), 'image')).find((each) => each.length > 0);
  if (!files) return parts.some((part) => Array.isArray(part) && part.every(isHollow)) ? [] : null;
  const type = `image/${/^(?:png|jpeg|webp)$/.exec(asText(root['output_format'])?.toLowerCase() ?? '')?.[0] ?? 'png'}`;
  const named = asText(root['output_format']) !== undefined;
  return files.map(({ kind: _, ...file }) =>
    file.url.startsWith('data:') && named
      ? { ...file, url: file.url.replace(/^data:[\w/+.-]+/, `data:${type}`), mimeType: type }
      : file,
  );
}

/** A text where images belong is base64, unless it is an address. */
const wrapped = (part: unknown): unknown =>
  Array.isArray(part)
    ? part.map(wrapped)
    : typeof part === 'string' && !/^(?:https?:|data:)/i.test(part.trim())
      ? { b64_json: part }
      : part;

/** An entry for an image with nothing in it. */
const isHollow = (part: unknown): boolean =>
  part === null ||
  part === '' ||
  (Array.isArray(part) && part.length === 0) ||
  (isObject(part) &&
    [part['url'], part['b64_json']].every((each) => each === null || each === undefined || each === ''));
