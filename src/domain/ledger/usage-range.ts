import { GatewayError } from '../errors.ts';
import type { SpendGroup } from './usage-group.ts';

const daySeconds = 86_400;
/** The longest range of one answer: a quarter of a year. */
export const usageMaxDays = 92;
const usualDays = 30;
/** The longest range of a report for operators whose days are those of the summaries. */
const summarizedMaxDays = 366;
/** More hours than these cannot be told apart in a chart, and each half hour has rows of its own. */
const hourlyMaxDays = 7;
const halfHourSeconds = 1_800;

/** The range of a report of usage, in unix seconds. What is not given makes it the last 30 days. Throws `invalid_value`, which repeats no time, because operators write dates. */
export function usageRange(
  range: { from?: number | undefined; to?: number | undefined },
  nowMs: number,
  maxDays = usageMaxDays,
): { from: number; to: number } {
  const to = range.to ?? Math.floor(nowMs / 1_000) + 1;
  const from = range.from ?? Math.max(0, to - Math.min(usualDays, maxDays) * daySeconds);
  if (from >= to) throw invalid('from: the range must begin before it ends. Give a `from` that is earlier than `to`.');
  if (to - from > maxDays * daySeconds) {
    throw invalid(`from: the range is longer than ${maxDays} days. Ask for it in parts.`);
  }
  return { from, to };
}

/**
 * The range of a report for operators: at most a year, 92 days if another zone than UTC cuts the days, and a week by the hour. What is not
 * given makes it the last 30 days, or 7 by the hour, from a half hour on, which no sum has to be cut for. Throws `invalid_value`.
 */
export function spendRange(
  range: { from?: number | undefined; to?: number | undefined },
  { groups, timeZone }: { groups: readonly SpendGroup[]; timeZone: string },
  nowMs: number,
): { from: number; to: number } {
  const isOfZone = timeZone !== 'UTC' && groups.includes('day');
  const maxDays = groups.includes('hour') ? hourlyMaxDays : isOfZone ? usageMaxDays : summarizedMaxDays;
  const { from, to } = usageRange(range, nowMs, maxDays);
  return { from: range.from ?? Math.ceil(from / halfHourSeconds) * halfHourSeconds, to };
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
