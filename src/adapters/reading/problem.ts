import { isObject } from '../../domain/json.ts';
import { fieldsOf, flagOf, isEmpty, asList, asText, type Fields } from './fields.ts';

/** An error that an answer tells, wherever it stands. */
export interface Problem {
  /** Codes and types as text, each once, the most telling first. */
  codes: string[];
  /** Prose. It may quote the request, so it is only compared with known phrases. */
  prose: string[];
}

const codeKeys = [
  'code',
  'type',
  'status',
  'error_code',
  'error_type',
  'status_code',
  'err_code',
  'reason',
  'errorCode',
  'error_name',
  'name',
  'failureCode',
  'http_code',
] as const;
const proseKeys = [
  'message',
  'msg',
  'detail',
  'error',
  'status_msg',
  'error_message',
  'error_msg',
  'errorMessage',
  'title',
  'description',
  'failure',
  'reason',
  'err_msg',
] as const;
/** Codes of answers that went well. */
const goodCodes = /^(?:0+|200|20[0-9]|ok|success|succeeded|succeed|none|null)$/i;
/** Other texts in the place of an error that say that there is none. */
const noErrors = /^(?:false|no|n\/?a)$/i;
/** The code of an error of which a body says nothing but `success: false`. */
export const unsuccessful = 'unsuccessful';

/**
 * The error that a body of any status tells: an `error`, `errors`, `detail` or `base_resp` with something in it, or a code of its own
 * that means no success. Null if there is none to be seen.
 */
export function problemOf(json: unknown): Problem | null {
  const root = fieldsOf(json);
  const parts = [root['error'], root['errors'], root['detail'], root['base_resp'], root['err']].flatMap((part) =>
    asList(part).slice(0, partsMax).filter(isErrorPart),
  );
  const problem: Problem = { codes: [], prose: [] };
  for (const part of parts) gather(part, problem);
  if (parts.length > 0 || isProblem(root)) gather(root, problem, parts.length === 0 ? 1 : 0);
  const codes = [...new Set(problem.codes.filter((code) => !goodCodes.test(code)))];
  const prose = [...new Set(problem.prose)];
  if (codes.length + prose.length > 0) return { codes, prose };
  return isUnsuccessful(root) ? { codes: [unsuccessful], prose } : null;
}
const partsMax = 10;

/** Whether an answer has an error with a code, or another word, and a message in the form of most families. */
export function hasWordedError(json: unknown, wordKey: 'code' | 'type' = 'code'): boolean {
  const error = fieldsOf(fieldsOf(json)['error']);
  return typeof error[wordKey] === 'string' && typeof error['message'] === 'string';
}

/** A part for errors that tells one: not empty, not `false`, and not the code of a success. */
function isErrorPart(part: unknown): boolean {
  if (isEmpty(part) || part === false) return false;
  const text = asText(part) ?? '';
  if (!isObject(part)) return !goodCodes.test(text) && !noErrors.test(text);
  const codes = codesIn(part);
  return codes.length === 0 ? proseIn(part).length > 0 : codes.some((code) => !goodCodes.test(code));
}

/** A body that is an error itself: `{"code": 1102, "message": "…"}`, `{"success": false, …}`, `{"message": "…"}`. */
function isProblem(root: Fields): boolean {
  if (isUnsuccessful(root) || asText(root['type']) === 'error') return true;
  const codes = [root['code'], root['error_code'], root['errorCode']].map(asText).filter((code) => code !== undefined);
  if (codes.length > 0) return codes.some((code) => !goodCodes.test(code));
  if (flagOf(root['success']) === false || flagOf(root['ok']) === false) return true;
  const filledKeys = Object.keys(root).filter(
    (key) => !isEmpty(root[key]) && !/^(?:request|trace|log)_?id$/i.test(key),
  );
  return (
    filledKeys.length > 0 &&
    filledKeys.every((key) => key === 'message' || key === 'msg') &&
    !goodCodes.test(proseIn(root)[0] ?? '')
  );
}

/** A zero there says nothing beside a code: it may be the code of a success itself. */
const isUnsuccessful = (root: Fields): boolean =>
  [root['success'], root['ok']].some((flag) => flag === false || /^false$/i.test(asText(flag) ?? ''));

function gather(value: unknown, { codes, prose }: Problem, depth = 0): void {
  const text = asText(value);
  if (text !== undefined) return void prose.push(text);
  const fields = fieldsOf(value);
  codes.push(...codesIn(fields));
  prose.push(...proseIn(fields));
  if (depth < 2)
    for (const key of ['error', 'metadata', 'details'] as const) {
      for (const each of asList(fields[key]).slice(0, partsMax))
        if (isObject(each)) gather(each, { codes, prose }, depth + 1);
    }
}

const codesIn = (fields: Fields): string[] =>
  codeKeys.flatMap((key) => {
    const code = asText(fields[key]);
    return code === undefined || code === 'error' ? [] : [code];
  });

const proseIn = (fields: Fields): string[] =>
  proseKeys.flatMap((key) => {
    const text = asText(fields[key]);
    return text === undefined ? [] : [text];
  });
