import { isObject } from '../../domain/json.ts';
import type { UpstreamOutput } from '../../domain/channels/upstream.ts';
import { FailedAnswer, plainWord } from '../upstream/classify-outcome.ts';
import { geminiFinishWords } from '../chat/finish-words.ts';
import { failureReasons, readGeminiError } from '../upstream/gemini-error.ts';
import type { ResultReader } from '../media/media-calls.ts';
import { asClip } from './clips.ts';
import { errorReader, meaningsOf, type WordTable } from './error-words.ts';
import { fieldsOf, flagOf, isEmpty, asList, numberOf, asText } from './fields.ts';
import { filesIn } from './files.ts';
import { mediaAnswers, type MediaAnswers } from './media-answers.ts';
import { hasWordedError } from './problem.ts';

/**
 * Google's codes and reasons (https://ai.google.dev/gemini-api/docs/troubleshooting and https://ai.google.dev/api/generate-content,
 * FinishReason, read on 2026-11-21), and the prose with which a refused operation or interaction ends, which has no code of its own.
 */
export const geminiErrorWords: WordTable = {
  codes: {
    content_policy: [/^(?:IMAGE_)?(?:SAFETY|PROHIBITED_CONTENT|RECITATION)$/i, /^(?:BLOCKLIST|SPII)$/i],
    account: [
      /^(?:API_KEY_\w{1,40}|BILLING\w{0,40}|CONSUMER_SUSPENDED|SERVICE_DISABLED)$/i,
      'UNAUTHENTICATED',
      'FAILED_PRECONDITION',
    ],
    rate_limit: ['RESOURCE_EXHAUSTED'],
    overloaded: ['UNAVAILABLE'],
    unknown_model: ['NOT_FOUND'],
    invalid: ['INVALID_ARGUMENT', 'invalid_request'],
  },
  phrases: {
    content_policy: [
      /\b(?:violates?|violated|violating) (?:\w+(?:'s)? ){0,3}(?:usage guidelines|polic(?:y|ies))\b/i,
      /\bresponsible ai (?:practices|guidelines|polic(?:y|ies))\b/i,
      /\bblocked (?:\w+ ){0,6}(?:safety (?:filters?|reasons?|polic(?:y|ies)|settings?)|content polic(?:y|ies)|usage polic(?:y|ies))\b/i,
    ],
    unknown_job: [/\binvalid interaction name\b/i],
  },
};

// Interactions have errors with a code in words.
const read = errorReader(geminiErrorWords, (json) => readGeminiError(json) !== null || hasWordedError(json));
/** Google's errors. An invalid key and an unsupported region are 400, and both concern our account. */
const error: MediaAnswers['error'] = (json, status) => {
  const own = read(json, status);
  const google = own && readGeminiError(json);
  return google ? [...new Set([...own, ...meaningsOf({ codes: google, prose: [] }, geminiErrorWords)])] : own;
};

const veo = mediaAnswers({
  noun: 'the operation',
  words: geminiErrorWords,
  isOwnError: (json) => hasWordedError(json),
  id: (json) => fieldsOf(json)['name'],
  providerJob(json) {
    const { done, error: failure, response } = fieldsOf(json);
    const made = fieldsOf(response);
    const inner = made['generateVideoResponse'] ?? response;
    const samples = fieldsOf(inner);
    const isFiltered = (numberOf(samples['raiMediaFilteredCount']) ?? 0) > 0;
    const isDone = flagOf(done) === true || (done === undefined && !(isEmpty(failure) && isEmpty(response)));
    const { code, status, message } = fieldsOf(failure);
    const strange = isObject(inner) || Array.isArray(inner) ? undefined : inner;
    const results = [samples['generatedSamples'], samples['generatedVideos'], samples['videos'], strange, response];
    const outputs = results.map((each) => filesIn(each, 'video')).find((files) => files.length > 0) ?? [];
    return {
      state: !isDone ? 'running' : isEmpty(failure) ? 'succeeded' : 'failed',
      results: isFiltered ? [] : results.slice(0, 4),
      outputs: outputs.map(asClip),
      withheld: isFiltered ? 'every clip was filtered' : undefined,
      failure: {
        // google.rpc.Code 3 is INVALID_ARGUMENT.
        codes: [asText(code) === '3' ? 'INVALID_ARGUMENT' : (asText(code) ?? ''), asText(status) ?? ''],
        prose: [asText(message) ?? asText(failure) ?? ''],
      },
    };
  },
});

/** Answers as a long running operation: `{name, done, response, error}`. An operation that is not done has no word for that. */
export const veoAnswers: MediaAnswers = {
  ...veo,
  error,
  result: (json) =>
    isObject(json) && ['name', 'done', 'response', 'error'].some((key) => !isEmpty(json[key])) && !isOnlyError(json)
      ? veo.result(json)
      : null,
  state: (json) => ('done' in fieldsOf(json) ? veo.state(json) : 'absent'),
};

/** An error of the call and not of the operation, which names itself or says that it is done. */
const isOnlyError = (json: unknown): boolean => {
  const { name, done, error: failure } = fieldsOf(json);
  return name === undefined && done === undefined && !isEmpty(failure);
};

const omni = mediaAnswers({
  noun: 'the interaction',
  words: geminiErrorWords,
  states: { requires_action: 'failed', requires_continuation: 'failed' },
  isOwnError: (json) => hasWordedError(json),
  id: (json) => fieldsOf(json)['id'],
  providerJob(json) {
    const { status, state, steps, outputs: made, errors, error: failure, output } = fieldsOf(json);
    const content = asList(steps)
      .map(fieldsOf)
      .filter(({ type }) => type === undefined || asText(type)?.toLowerCase() === 'model_output')
      .flatMap((step) => asList(step['content']));
    const clipsIn = content.filter(
      (each) => typeof each === 'string' || /^(?:video|file)?$/i.test(asText(fieldsOf(each)['type']) ?? ''),
    );
    const results = [clipsIn, made, output, asList(steps).filter((step) => !isObject(step))];
    const outputs = results.map((each) => filesIn(each, 'video')).find((files) => files.length > 0) ?? [];
    const failures = [...asList(errors), ...asList(failure)].map(fieldsOf);
    return {
      state: status ?? state,
      results,
      outputs: outputs.map(asClip),
      failure: {
        codes: failures.flatMap(({ code }) => asText(code) ?? []),
        prose: failures.flatMap(({ message }) => asText(message) ?? []),
      },
    };
  },
});

/** Answers as an interaction: `{id, status, steps: [{type, content: [{type, uri}]}], errors}`. */
export const omniAnswers: MediaAnswers = { ...omni, error };

/**
 * The images of a reply, or why there are none: `withheld` for a reason of Google's policy, and the reason of a model that failed.
 * Null for JSON that is no reply.
 */
export const readGeminiImages: ResultReader = (json) => {
  const root = fieldsOf(json);
  const { blockReason } = fieldsOf(root['promptFeedback']);
  const candidates = asList(root['candidates']).filter(isObject);
  if (candidates.length === 0 && isEmpty(blockReason)) return null;
  const parts = candidates.flatMap((candidate) =>
    asList(fieldsOf(candidate['content'])['parts'] ?? candidate['parts']),
  );
  const outputs = parts.flatMap(imagesOfPart);
  if (outputs.length > 0) return outputs;
  if (parts.some((part) => !isEmpty(fieldsOf(part)['inlineData']) && flagOf(fieldsOf(part)['thought']) !== true))
    return null;
  const reasons = candidates.flatMap(({ finishReason }) => asText(finishReason)?.toUpperCase() ?? []);
  if (!isEmpty(blockReason) || reasons.some(isPolicyReason)) return 'withheld';
  const failure = reasons.find((reason) => failureReasons.has(reason));
  return failure === undefined ? [] : new FailedAnswer(plainWord(failure));
};

const isPolicyReason = (reason: string): boolean => geminiFinishWords[reason.toLowerCase()] === 'content_filter';

/** The thoughts of a model may contain drafts, which are not results. */
function imagesOfPart(part: unknown): UpstreamOutput[] {
  const { thought, inlineData, inline_data, fileData, file_data, text: _, ...others } = fieldsOf(part);
  if (flagOf(thought) === true) return [];
  return filesIn([inlineData, inline_data, fileData, file_data, others], 'image').map(({ kind: _kind, ...file }) =>
    file.mimeType === undefined ? { ...file, mimeType: 'image/png' } : file,
  );
}
