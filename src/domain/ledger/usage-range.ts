import { GatewayError } from '../errors.ts';

const daySeconds = 86_400;
/** The longest range of one answer: a quarter of a year. */
const rangeMaxDays = 92;
const usualDays = 30;

/** The range of a report of usage, in unix seconds. What is not given makes it the last 30 days. Throws `invalid_value`. */
export function usageRange(
  range: { from?: number | undefined; to?: number | undefined },
  nowMs: number,
): { from: number; to: number } {
  const to = range.to ?? Math.floor(nowMs / 1_000) + 1;
  const from = range.from ?? Math.max(0, to - usualDays * daySeconds);
  if (from >= to) throw invalid(`from: ${from} is not earlier than to, which is ${to}.`);
  if (to - from > rangeMaxDays * daySeconds) {
    throw invalid(`from: the range to ${to} is longer than ${rangeMaxDays} days. Ask for it in parts.`);
  }
  return { from, to };
}

const invalid = (message: string): GatewayError => new GatewayError('invalid_value', { message, param: 'from' });

/** Whether a text names a zone of the IANA database. PostgreSQL would also take abbreviations and POSIX rules, with other meanings. */
export function isTimeZone(name: string): boolean {
  if (!/^[\w+\-/]{1,64}$/.test(name)) return false;
  try {
    // An offset such as +02:00 is no name.
    return !/^[+-]/.test(new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone);
  } catch {
    return false;
  }
}
