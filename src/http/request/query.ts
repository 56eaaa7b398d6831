import { GatewayError, quoted } from '../../domain/errors.ts';
import { didYouMean } from '../../domain/nearest.ts';
import type { AppContext } from '../context.ts';

/**
 * Refuses a query parameter that the route does not read, and one that is sent twice. A client that relies on a parameter must learn
 * that it has no effect. A known name that ends in `[]` stands for one parameter of each name in the brackets: `metadata[]` takes
 * `metadata[order]=7`. With `skipsUnknown` only parameters of the route are checked. Runs after authentication, so that a request without a valid
 * key gets only its 401.
 */
export function demandSupportedQuery(
  ctx: AppContext,
  supported: readonly string[],
  { skipsUnknown = false }: { skipsUnknown?: boolean } = {},
): void {
  if (ctx.querystring === '') return;
  const seen = new Set<string>();
  for (const name of new URLSearchParams(ctx.querystring).keys()) {
    const param = quoted(name);
    if (!supported.includes(name.replace(/\[.*\]$/s, '[]'))) {
      if (skipsUnknown) continue;
      const message = `The query parameter ${param} is not supported here.${didYouMean(name, supported)}`;
      throw new GatewayError('unsupported_parameter', { param, message });
    }
    if (seen.has(name)) {
      throw new GatewayError('invalid_value', { message: `The query parameter ${param} was sent twice.`, param });
    }
    seen.add(name);
  }
}

/** The value of a query parameter. Undefined if it is absent or empty. */
export const queryValue = (ctx: AppContext, param: string): string | undefined =>
  new URLSearchParams(ctx.querystring).get(param) || undefined;

/** A whole number from 1 to `max`, in `limit` or another parameter. Throws `invalid_value` for any other value. */
export const queryLimit = (
  ctx: AppContext,
  { param = 'limit', fallback, max }: { param?: string; fallback: number; max: number },
): number => queryWholeNumber(ctx, param, { min: 1, max }) ?? fallback;

/** A whole number in this range, or undefined if the parameter is absent. Throws `invalid_value` for any other value. */
export function queryWholeNumber(
  ctx: AppContext,
  param: string,
  { min, max }: { min: number; max: number },
): number | undefined {
  const text = queryValue(ctx, param);
  if (text === undefined) return undefined;
  const number = /^\d{1,6}$/.test(text) ? Number(text) : -1;
  if (number >= min && number <= max) return number;
  throw refusedValue(param, text, `a whole number from ${min} to ${max}`);
}

/** One of `values`, or undefined if the parameter is absent. Throws `invalid_value` for any other value. */
export function queryOneOf<Value extends string>(
  ctx: AppContext,
  param: string,
  values: readonly Value[],
): Value | undefined {
  const text = queryValue(ctx, param);
  if (text === undefined) return undefined;
  const value = values.find((one) => one === text);
  if (value !== undefined) return value;
  throw refusedValue(param, text, `one of ${values.join(', ')}`);
}

/** The values of the parameters `param[name]` by their names. Throws `invalid_value` for a name or value that PostgreSQL cannot compare. */
export function queryMembers(ctx: AppContext, param: string): Record<string, string> {
  const members = [...new URLSearchParams(ctx.querystring)].filter(([name]) => name.startsWith(`${param}[`));
  for (const [name, value] of members)
    if ((name + value).includes('\0')) throw refusedValue(quoted(name), value, 'a text without NUL');
  return Object.fromEntries(members.map(([name, value]) => [name.slice(param.length + 1, -1), value]));
}

/** A text that PostgreSQL can compare, or undefined if the parameter is absent. Throws `invalid_value` for any other value. */
export function queryText(ctx: AppContext, param: string): string | undefined {
  const text = queryValue(ctx, param);
  if (text === undefined || (text.length <= TEXT_MAX && !text.includes('\0'))) return text;
  throw refusedValue(param, text, `a text of at most ${TEXT_MAX} characters without NUL`);
}

/** Longer than the name of any model. */
const TEXT_MAX = 200;

/** A time in whole unix seconds, or undefined if the parameter is absent. Throws `invalid_value` for any other value. */
export function queryTime(ctx: AppContext, param: string): number | undefined {
  const text = queryValue(ctx, param);
  if (text === undefined) return undefined;
  // Ten digits reach the year 2286.
  if (/^\d{1,10}$/.test(text)) return Number(text);
  throw refusedValue(param, text, 'a time in whole unix seconds');
}

const refusedValue = (param: string, text: string, accepted: string): GatewayError =>
  new GatewayError('invalid_value', { message: `${param}: ${quoted(text)} is not ${accepted}.`, param });
