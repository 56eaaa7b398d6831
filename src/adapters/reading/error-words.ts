import { plainWord, type ReadError } from '../upstream/classify-outcome.ts';
import { problemOf, type Problem } from './problem.ts';

/**
 * What an error means, as far as a table of codes and phrases knows. `rate_limit`: later. `overloaded`: the provider lacks capacity.
 * `in_flight`: our own running requests reach a limit. `no_output`: nothing was made. `failure`: the job failed.
 */
export const meanings = [
  'content_policy',
  'in_flight',
  'account',
  'rate_limit',
  'overloaded',
  'unknown_model',
  'unknown_job',
  'invalid',
  'no_output',
  'failure',
];
export type Meaning = (typeof meanings)[number];
const names: ReadonlySet<string> = new Set(meanings);

/** Whether words of `errorReader` have this meaning. */
export const means = (words: readonly string[] | null, meaning: Meaning): boolean => words?.includes(meaning) ?? false;

/**
 * What the codes and phrases of one family mean, from its documents. Codes are compared whole and in any case, phrases with the words
 * of prose. A code or a phrase that is not listed means nothing: then the status decides.
 */
export interface WordTable {
  codes: { readonly [M in Meaning]?: readonly (string | RegExp)[] };
  phrases?: { readonly [M in Meaning]?: readonly RegExp[] };
}

/**
 * What codes and phrases mean that many providers and the gateways before them share. None of them is about a content policy: that is
 * said by a family's own table only.
 */
const common: WordTable = {
  codes: {
    account: [
      /^insufficient_(?:quota|balance|credits?|funds)(?:_error)?$/i,
      /^(?:quota_exceeded|exceeded_current_quota(?:_error)?|exhausted_balance|user_locked|arrearage|account_deactivated)$/i,
      /^(?:billing_(?:not_active|hard_limit_reached)|billing|payment_required|account_overdue)$/i,
      /^(?:invalid_api_key|authentication_error|unauthorized|unauthenticated|invalid_authentication)$/i,
    ],
    rate_limit: [/^(?:rate_limit(?:_exceeded|_error|_reached)?|too_many_requests|throttled|requests)$/i],
    overloaded: [/^(?:engine_)?overloaded(?:_error)?$/i, 'service_unavailable', 'server_busy'],
    unknown_model: ['model_not_found', 'unknown_model', 'app_not_found'],
    invalid: [
      /^(?:invalid_request(?:_error)?|invalid_(?:parameter|value|argument)|bad_request(?:_error)?|validation_error)$/i,
    ],
  },
  phrases: {
    account: [
      /\b(?:account )?balance (?:is )?(?:not enough|insufficient|too low)\b/i,
      /\binsufficient (?:account )?(?:balance|credits?|funds|quota)\b/i,
      /\b(?:not (?:have )?enough credits|exhausted balance|user is locked|account is in arrears)\b/i,
    ],
    rate_limit: [/\b(?:rate limit(?: (?:exceeded|reached))?|too many requests)\b/i],
  },
};

/** What the table of a family and the common one say about an error. */
export function meaningsOf({ codes, prose }: Problem, table: WordTable): Meaning[] {
  const unquoted = prose.map(withoutQuotes);
  return meanings.filter((meaning) =>
    [table, common].some(
      (each) =>
        each.codes[meaning]?.some((pattern) => codes.some((code) => isCode(code, pattern))) ||
        each.phrases?.[meaning]?.some((phrase) => unquoted.some((text) => phrase.test(text))),
    ),
  );
}

const isCode = (code: string, pattern: string | RegExp): boolean =>
  typeof pattern === 'string' ? code.toLowerCase() === pattern.toLowerCase() : pattern.test(code);

/** What stands in quotes may come from the request, and proves nothing. */
const withoutQuotes = (prose: string): string =>
  prose.slice(0, proseLengthMax).replaceAll(/"[^"]{0,2000}"|`[^`]{0,2000}`|“[^”]{0,2000}”/g, '…');
const proseLengthMax = 4_000;

/**
 * Reads the errors of a family: the codes that are plain words, then what they and the prose mean. `isOwn` tells whether a body is
 * certainly from this provider. A 5xx whose body is neither its own nor of a known meaning may come from a proxy, and is no error of
 * the provider.
 */
export function errorReader(table: WordTable, isOwn: (json: unknown) => boolean): ReadError {
  return (json, status = 400) => {
    const problem = problemOf(json);
    if (!problem) return status < 400 || !isOwn(json) ? null : [];
    const foundMeanings = meaningsOf(problem, table);
    if (status >= 500 && foundMeanings.length === 0 && !isOwn(json)) return null;
    const codes = problem.codes.map(plainWord).filter((code) => code !== '' && !names.has(code));
    return [...new Set([...codes, ...foundMeanings])];
  };
}
