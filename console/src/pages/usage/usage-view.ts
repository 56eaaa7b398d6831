import { overviewRange, overviewRanges } from '../../../../src/domain/operators/overview-range.ts';
import type { SpendRow } from '../../api/admin-types.ts';

/** What the page shows. All of it is in its address. */
export interface View {
  /** UTC days as `YYYY-MM-DD`, both included. */
  from: string;
  to: string;
  /** Unix seconds, for the ranges of the overview, which end now. */
  since: number | undefined;
  interval: 'day' | 'hour';
  by: Dimension;
  measure: Measure;
  /** What the rows of the table are told apart by. */
  rows: Group[];
  project: string | undefined;
}

export const dimensions = ['project', 'model', 'key', 'channel', 'type'] as const;
export type Dimension = (typeof dimensions)[number];
export type Group = 'day' | 'hour' | Dimension;
export const measures = ['credits', 'cost', 'margin', 'tokens', 'requests', 'failed'] as const;
export type Measure = (typeof measures)[number];

export type UsageSearch = Partial<
  Record<'range' | 'from' | 'to' | 'interval' | 'by' | 'measure' | 'rows' | 'project', string>
>;

/** The ranges that one press chooses, in days up to today. */
export const ranges = [
  { value: 'hour', label: 'Last hour' },
  { value: 'day', label: 'Last 24 hours' },
  { value: 'week', label: 'Last 168 hours' },
  { value: '1', label: 'Today' },
  { value: '7', label: 'Last 7 days' },
  { value: '30', label: 'Last 30 days' },
  { value: '90', label: 'Last 90 days' },
  { value: '365', label: 'Last 365 days' },
] as const;

const dayMs = 86_400_000;
/** Longer ranges are shown by the day. */
const hourlyDaysMax = 7;

/** The view that an address asks for. What it lacks, or has wrong, is as usual. */
export function viewOf(search: UsageSearch, nowMs = Date.now()): View {
  const ofOverview = oneOf(overviewRanges, search.range);
  const since = ofOverview && overviewRange(ofOverview, Math.floor(nowMs / 1_000)).from;
  const days = Number(ranges.find(({ value }) => value === search.range && since === undefined)?.value ?? 30);
  const chosen = [search.from ?? '', search.to ?? ''] as const;
  const [from, to] =
    chosen.every(isDay) && chosen[0] <= chosen[1]
      ? chosen
      : [dayOf(since === undefined ? nowMs - (days - 1) * dayMs : since * 1_000), dayOf(nowMs)];
  const by = oneOf(dimensions, search.by) ?? 'model';
  const interval =
    (search.interval ?? (since === undefined || ofOverview === 'week' ? 'day' : 'hour')) === 'hour' &&
    daysBetween(from, to) <= hourlyDaysMax
      ? 'hour'
      : 'day';
  const rows = (search.rows ?? by)
    .split(',')
    .flatMap((name): Group[] => (isGroup(name) ? [name === 'hour' || name === 'day' ? interval : name] : []));
  return {
    from,
    to,
    since: search.from === undefined ? since : undefined,
    interval,
    by,
    measure: oneOf(measures, search.measure) ?? 'credits',
    rows: rows.length > 0 ? [...new Set(rows)] : [by],
    project: search.project,
  };
}

export const mayBeHourly = ({ from, to }: Pick<View, 'from' | 'to'>): boolean => daysBetween(from, to) <= hourlyDaysMax;

/** The range as inputs of the API. */
export const inputsOf = ({ from, to, since, project }: View) => ({
  ...(project !== undefined && { project }),
  from: since ?? Date.parse(from) / 1_000,
  to: (Date.parse(to) + dayMs) / 1_000,
});

/** Every day or hour of the range until now, as the API names them. */
export function periodsOf({ from, to, interval }: View, nowMs = Date.now()): string[] {
  const stepMs = interval === 'hour' ? dayMs / 24 : dayMs;
  const end = Math.min(Date.parse(to) + dayMs, nowMs);
  const count = Math.max(1, Math.ceil((end - Date.parse(from)) / stepMs));
  return Array.from({ length: count }, (_, index) =>
    new Date(Date.parse(from) + index * stepMs).toISOString().slice(0, interval === 'hour' ? 16 : 10),
  );
}

/** Requests that failed, without those that a client left. */
export const failedOf = ({ failed, left, left_charged: leftCharged }: Departed): number =>
  failed - (left - leftCharged);

/** Requests that succeeded, without those that a client left and was charged for. */
export const succeededOf = ({ succeeded, left_charged: leftCharged }: Departed & Pick<SpendRow, 'succeeded'>): number =>
  succeeded - leftCharged;

type Departed = Pick<SpendRow, 'failed' | 'left' | 'left_charged'>;

/** How much of a measure a row has, in credits, millionths of a dollar, tokens or requests. */
export const amountOf: Record<Measure, (row: Amounts) => number> = {
  credits: ({ credits }) => credits,
  cost: (row) => row.cost_micro_usd,
  margin: (row) => row.margin_micro_usd,
  tokens: (row) => row.input_tokens + row.output_tokens,
  requests: ({ requests }) => requests,
  failed: failedOf,
};
export type Amounts = Pick<
  SpendRow,
  'credits' | 'cost_micro_usd' | 'margin_micro_usd' | 'input_tokens' | 'output_tokens' | 'requests' | 'failed'
> &
  Departed;

/** What a row is called in one of its groups. */
export function nameIn(group: Group, row: SpendRow): string {
  if (row.is_rest && group !== 'day' && group !== 'hour') return 'All others';
  return names[group](row);
}

const names: Record<Group, (row: SpendRow) => string> = {
  day: ({ day }) => day ?? '',
  hour: ({ hour }) => (hour ?? '').replace('T', ' '),
  project: (row) => row.project_name || (row.project_id ?? 'No project'),
  model: ({ model }) => model ?? 'Adjustments',
  key: (row) => row.key_name || (row.key_id ?? 'No key'),
  channel: (row) => row.channel ?? row.channel_id ?? 'No channel',
  type: ({ type }) => type ?? 'Unknown',
};

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
const isDay = (text: string): boolean => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text));
const daysBetween = (from: string, to: string): number => (Date.parse(to) - Date.parse(from)) / dayMs + 1;
const isGroup = (name: string): name is Group => ['day', 'hour', ...dimensions].includes(name);
const oneOf = <Name extends string>(names: readonly Name[], name: string | undefined): Name | undefined =>
  names.find((one) => one === name);
