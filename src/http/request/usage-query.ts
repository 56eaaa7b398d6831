import { GatewayError, quoted } from '../../domain/errors.ts';
import { usageGroups, type UsageGroup } from '../../domain/ledger/usage-group.ts';
import { isTimeZone, usageRange } from '../../domain/ledger/usage-range.ts';
import type { AppContext } from '../context.ts';
import { queryText, queryTime, queryValue } from './query.ts';

interface UsageQuery {
  keyId: string | undefined;
  from: number;
  to: number;
  timeZone: string;
  groups: UsageGroup[];
}

/** The range and the groups of a usage request. Without them: the last 30 days, by day, model and key, in UTC. Throws `invalid_value`. */
export function readUsageQuery(ctx: AppContext, nowMs: number): UsageQuery {
  const range = usageRange({ from: queryTime(ctx, 'from'), to: queryTime(ctx, 'to') }, nowMs);
  return { keyId: queryText(ctx, 'key_id'), ...range, timeZone: readTimeZone(ctx), groups: readGroups(ctx) };
}

function readGroups(ctx: AppContext): UsageGroup[] {
  const names = queryValue(ctx, 'group_by')?.split(',') ?? [...usageGroups];
  const wrong = names.find((name) => !usageGroups.some((group) => group === name));
  if (wrong !== undefined) {
    throw invalid('group_by', `group_by: ${quoted(wrong)} is not one of ${usageGroups.join(', ')}.`);
  }
  return usageGroups.filter((group) => names.includes(group));
}

function readTimeZone(ctx: AppContext): string {
  const timeZone = queryValue(ctx, 'tz') ?? 'UTC';
  if (isTimeZone(timeZone)) return timeZone;
  throw invalid('tz', `tz: ${quoted(timeZone)} is not a time zone such as UTC or Europe/Berlin.`);
}

const invalid = (param: string, message: string): GatewayError => new GatewayError('invalid_value', { message, param });
