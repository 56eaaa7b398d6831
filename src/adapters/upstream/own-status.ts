import { fieldsIn } from '../chat/event-fields.ts';

/** The HTTP status that an error inside a 2xx answer names, as OpenRouter, vLLM, Google and MiniMax do; else that of its words; else undefined. */
export function ownStatus(json: unknown, words: readonly string[]): number | undefined {
  const event = fieldsIn(json);
  const error = fieldsIn(event?.error);
  const named = [
    error?.code,
    error?.status,
    error?.status_code,
    error?.http_code,
    event?.status,
    event?.status_code,
    event?.code,
  ];
  return named.map(statusIn).find((status) => status !== undefined) ?? statusOfWords(words);
}

/** The status with which providers send these words; undefined if they are about no request, account or limit. */
export const statusOfWords = (words: readonly string[]): number | undefined =>
  statusWords.find(([, pattern]) => words.some((word) => pattern.test(word)))?.[0];

function statusIn(value: unknown): number | undefined {
  const status = typeof value === 'string' && /^\d{3}$/.test(value) ? Number(value) : value;
  return typeof status === 'number' && Number.isInteger(status) && status >= 400 && status <= 599 ? status : undefined;
}

/**
 * The types of errors, as OpenAI, Anthropic (https://platform.claude.com/docs/en/api/errors) and Google (google.rpc.Code) name them. Read on
 * 2026-11-26. `invalid_request_error` is last, because some vendors say it of everything.
 */
const statusWords: readonly [number, RegExp][] = [
  [400, /^context_length_exceeded$/i],
  [401, /^(authentication_error|invalid_api_key|invalid_authentication|unauthorized|unauthenticated)$/i],
  [
    402,
    /^(billing(_error|_not_active|_hard_limit_reached)?|insufficient_(quota|balance|credits|funds)|payment_required)$/i,
  ],
  [403, /^(permission_error|permission_denied|forbidden)$/i],
  [404, /^(not_found_error|model_not_found|not_found)$/i],
  [413, /^request_too_large$/i],
  [429, /^(rate_limit(_exceeded|_error|_reached_error)?|too_many_requests|resource_exhausted)$/i],
  [503, /^(engine_)?overloaded(_error)?$|^unavailable$|^service_unavailable$/i],
  [400, /^(invalid_request(_error)?|invalid_(argument|value|prompt|parameter)|bad_request(_error)?)$/i],
];
