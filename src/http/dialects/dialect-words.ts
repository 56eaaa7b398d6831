import { GatewayError } from '../../domain/errors.ts';

/** A dialect's names of the fields that the shared checks know. */
export type DialectWords = Readonly<Partial<Record<string, string>>>;

/** The dialect's name of a field that the shared checks know; any other field keeps its name. */
export const wordFor = (words: DialectWords, field: string): string =>
  (Object.hasOwn(words, field) ? words[field] : undefined) ?? field;

/** The dialect's name of one tool or of its schema: `tools.*` and `tools.*.function.parameters`. */
function wordInTools(words: DialectWords, param: string): string | undefined {
  const [, index, rest = ''] = /^tools\.(\d+)(\..+)?$/.exec(param) ?? [];
  return index === undefined ? undefined : words[`tools.*${rest}`]?.replace('*', index);
}

/**
 * Renames the field of a refusal by the shared checks to the dialect's name of it. A path inside `messages` becomes the whole field,
 * because a dialect may divide its messages otherwise. Other errors pass unchanged: refusals of a reader use the dialect's names.
 */
export function inWords(words: DialectWords, error: unknown): unknown {
  if (!(error instanceof GatewayError) || error.param === undefined || error.isInClientWords) return error;
  const { code, param, retryAfterSeconds, shouldRetry, taskId, accepted, cause } = error;
  const own = Object.hasOwn(words, param) ? words[param] : undefined;
  const word = own ?? wordInTools(words, param) ?? (param.startsWith('messages.') ? words['messages'] : undefined);
  if (word === undefined) return error;
  const message = error.message.replaceAll(new RegExp(`\\b${param.replaceAll('.', '\\.')}\\b`, 'g'), word);
  return new GatewayError(code, { message, param: word, retryAfterSeconds, shouldRetry, taskId, accepted, cause });
}
