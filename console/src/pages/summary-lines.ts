import type { SummaryRow } from '../api/admin-types.ts';

export type Group = 'model' | 'channel' | 'project' | 'all';

const sums = [
  'requests',
  'successes',
  'failures',
  'left',
  'left_charged',
  'credits_charged',
  'cost_micro_usd',
  'unknown_costs',
  'margin_micro_usd',
] as const;

export type Line = Pick<SummaryRow, (typeof sums)[number]> & {
  name: string;
  /** Of the model, the channel or the project; empty for rows without one. */
  id: string;
};

/** The sums of a month by one of its dimensions, the largest margin first. */
export function totalBy(rows: readonly SummaryRow[], group: Group): Line[] {
  const lines = new Map<string, Line>();
  for (const row of rows) {
    const [name, id] = [names[group](row), ids[group](row)];
    // Two projects may have one name.
    const line = lines.get(id || name);
    if (line) for (const sum of sums) line[sum] += row[sum];
    else lines.set(id || name, { ...row, name, id });
  }
  return [...lines.values()].toSorted((a, b) => b.margin_micro_usd - a.margin_micro_usd);
}

const names: Record<Group, (row: SummaryRow) => string> = {
  model: ({ model }) => model || 'Adjustments',
  channel: ({ channel, channel_id: id }) => channel ?? (id || 'No channel'),
  project: ({ project_name: name, project_id: id }) => name || id,
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
