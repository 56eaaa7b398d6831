import { GatewayError, quoted } from '../domain/errors.ts';
import { usageGroups, type UsageGroup } from '../domain/usage-group.ts';
import type { AppContext } from './context.ts';
import { queryText, queryTime, queryValue } from './query.ts';

const daySeconds = 86_400;
/** The longest range of one answer: a quarter of a year. */
const rangeMaxDays = 92;
const usualDays = 30;

interface UsageQuery {
  keyId: string | undefined;
  from: number;
  to: number;
  timeZone: string;
  groups: UsageGroup[];
}

/** The range and the groups of a usage request. Without them: the last 30 days, by day, model and key, in UTC. Throws `invalid_value`. */
export function readUsageQuery(ctx: AppContext, nowMs: number): UsageQuery {
  const to = queryTime(ctx, 'to') ?? Math.floor(nowMs / 1_000) + 1;
  const from = queryTime(ctx, 'from') ?? Math.max(0, to - usualDays * daySeconds);
  if (from >= to) throw invalid('from', `from: ${from} is not earlier than to, which is ${to}.`);
  if (to - from > rangeMaxDays * daySeconds) {
    throw invalid('from', `from: the range to ${to} is longer than ${rangeMaxDays} days. Ask for it in parts.`);
  }
  return { keyId: queryText(ctx, 'key_id'), from, to, timeZone: readTimeZone(ctx), groups: readGroups(ctx) };
}

function readGroups(ctx: AppContext): UsageGroup[] {
  const given = queryValue(ctx, 'group_by')?.split(',') ?? [...usageGroups];
  const wrong = given.find((name) => !usageGroups.some((group) => group === name));
  if (wrong !== undefined) {
    throw invalid('group_by', `group_by: ${quoted(wrong)} is not one of ${usageGroups.join(', ')}.`);
  }
  return usageGroups.filter((group) => given.includes(group));
}

function readTimeZone(ctx: AppContext): string {
  const given = queryValue(ctx, 'tz') ?? 'UTC';
  // The names of the IANA database. PostgreSQL would also take abbreviations and POSIX rules, with other meanings.
  if (/^[\w+\-/]{1,64}$/.test(given) && isTimeZone(given)) return given;
  throw invalid('tz', `tz: ${quoted(given)} is not a time zone such as UTC or Europe/Berlin.`);
}

function isTimeZone(name: string): boolean {
  try {
    // An offset such as +02:00 is no name.
    return !/^[+-]/.test(new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone);
  } catch {
    return false;
  }
}

const invalid = (param: string, message: string): GatewayError => new GatewayError('invalid_value', { message, param });
