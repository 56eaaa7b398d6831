import type { SummaryRow } from '../api/admin-types.ts';

export type Group = 'model' | 'channel' | 'project' | 'all';

export type Line = Pick<
  SummaryRow,
  'requests' | 'successes' | 'failures' | 'credits_charged' | 'cost_micro_usd' | 'margin_micro_usd'
> & {
  name: string;
  /** Of the model, the channel or the project; empty for rows without one. */
  id: string;
};

/** The sums of a month by one of its dimensions, the largest margin first. */
export function totalBy(rows: readonly SummaryRow[], group: Group): Line[] {
  const lines = new Map<string, Line>();
  for (const row of rows) {
    const name = names[group](row);
    const line = lines.get(name) ?? {
      name,
      id: ids[group](row),
      requests: 0,
      successes: 0,
      failures: 0,
      credits_charged: 0,
      cost_micro_usd: 0,
      margin_micro_usd: 0,
    };
    line.requests += row.requests;
    line.successes += row.successes;
    line.failures += row.failures;
    line.credits_charged += row.credits_charged;
    line.cost_micro_usd += row.cost_micro_usd;
    line.margin_micro_usd += row.margin_micro_usd;
    lines.set(name, line);
  }
  return [...lines.values()].toSorted((a, b) => b.margin_micro_usd - a.margin_micro_usd);
}

const names: Record<Group, (row: SummaryRow) => string> = {
  model: ({ model }) => model || 'Adjustments',
  channel: ({ channel, channel_id: id }) => channel ?? (id || 'No channel'),
  project: ({ project_id: id }) => id,
  all: () => 'All',
};

const ids: Record<Group, (row: SummaryRow) => string> = {
  model: ({ model }) => model,
  channel: ({ channel_id: id }) => id,
  project: ({ project_id: id }) => id,
  all: () => '',
};

/** The current month (UTC) and those before it, for a choice. */
export function lastMonths(count: number, now = new Date()): { value: string; label: string }[] {
  return Array.from({ length: count }, (_, back) => {
    const first = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back, 1));
    return { value: first.toISOString().slice(0, 7), label: monthName.format(first) };
  });
}

const monthName = new Intl.DateTimeFormat('en', { month: 'long', year: 'numeric', timeZone: 'UTC' });
