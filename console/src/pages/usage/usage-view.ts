import { overviewRange, overviewRanges } from '../../../../src/domain/operators/overview-range.ts';
import { isTimeZone, usageMaxDays } from '../../../../src/domain/ledger/usage-range.ts';
import type { SpendRow } from '../../api/admin-types.ts';
import { beginOfDay, dayIn, daysAfter, hourIn } from '../../ui/zone-days.ts';

interface Range {
  /** Days of the zone as `YYYY-MM-DD`, both included. */
  from: string;
  to: string;
  /** Unix seconds, for the ranges of the overview, which end now. */
  since: number | undefined;
  zone: string;
}

/** What the page shows. All of it is in its address. */
export interface View extends Range {
  /** The range is too long for the zone that was asked for, so its days are those of UTC. */
  isTooLongForZone: boolean;
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
  Record<'range' | 'from' | 'to' | 'tz' | 'interval' | 'by' | 'measure' | 'rows' | 'project', string>
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

const daySeconds = 86_400;
/** Longer ranges are shown by the day. */
const hourlyDaysMax = 7;

/** The view that an address asks for. What it lacks, or has wrong, is as usual: days are those of the viewer's zone. */
export function viewOf(search: UsageSearch, viewerZone: string, nowMs = Date.now()): View {
  const requestedRange = rangeOf(search, isTimeZone(search.tz ?? '') ? String(search.tz) : viewerZone, nowMs);
  const isTooLongForZone = requestedRange.zone !== 'UTC' && secondsOf(requestedRange) > usageMaxDays * daySeconds;
  const range = isTooLongForZone ? rangeOf(search, 'UTC', nowMs) : requestedRange;
  const by = oneOf(dimensions, search.by) ?? 'model';
  const usual = range.since === undefined || search.range === 'week' ? 'day' : 'hour';
  const interval = (search.interval ?? usual) === 'hour' && mayBeHourly(range) ? 'hour' : 'day';
  const rows = (search.rows ?? by)
    .split(',')
    .flatMap((name): Group[] => (isGroup(name) ? [name === 'hour' || name === 'day' ? interval : name] : []));
  return {
    ...range,
    isTooLongForZone,
    interval,
    by,
    measure: oneOf(measures, search.measure) ?? 'credits',
    rows: rows.length > 0 ? [...new Set(rows)] : [by],
    project: search.project,
  };
}

function rangeOf(search: UsageSearch, zone: string, nowMs: number): Range {
  const { from = '', to = '' } = search;
  if (isDay(from) && isDay(to) && from <= to) return { from, to, since: undefined, zone };
  const today = dayIn(zone, nowMs);
  const ofOverview = oneOf(overviewRanges, search.range);
  if (ofOverview !== undefined) {
    const { from: since } = overviewRange(ofOverview, Math.floor(nowMs / 1_000));
    return { from: dayIn(zone, since * 1_000), to: today, since, zone };
  }
  const days = Number(ranges.find(({ value }) => value === search.range)?.value ?? 30);
  return { from: daysAfter(today, 1 - days), to: today, since: undefined, zone };
}

const beginOf = ({ since, from, zone }: Range): number => since ?? beginOfDay(zone, from) / 1_000;
const endOf = ({ to, zone }: Range): number => beginOfDay(zone, daysAfter(to, 1)) / 1_000;
const secondsOf = (range: Range): number => endOf(range) - beginOf(range);

export const mayBeHourly = (range: Range): boolean => secondsOf(range) <= hourlyDaysMax * daySeconds;

/** The range as inputs of the API. */
export const inputsOf = (view: Range & Pick<View, 'project'>) => ({
  ...(view.project !== undefined && { project: view.project }),
  from: beginOf(view),
  to: endOf(view),
  tz: view.zone,
});

/** Every day or hour of the range until now, as the API names them. */
export function periodsOf(view: View, nowMs = Date.now()): string[] {
  const { zone, interval } = view;
  const [begin, end] = [beginOfDay(zone, view.from), Math.min(endOf(view) * 1_000, nowMs)];
  if (interval === 'day') {
    const last = dayIn(zone, Math.max(begin, end - 1));
    return Array.from({ length: daysBetween(view.from, last) }, (_, index) => daysAfter(view.from, index));
  }
  const hours = Array.from({ length: Math.max(1, Math.ceil((end - begin) / hourMs)) }, (_, index) =>
    hourIn(zone, begin + index * hourMs),
  );
  // When clocks are put back, two hours have one name.
  return [...new Set(hours)];
}

const hourMs = 3_600_000;

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

const isDay = (text: string): boolean => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text));
const daysBetween = (from: string, to: string): number => (Date.parse(to) - Date.parse(from)) / 1_000 / daySeconds + 1;
const isGroup = (name: string): name is Group => ['day', 'hour', ...dimensions].includes(name);
const oneOf = <Name extends string>(names: readonly Name[], name: string | undefined): Name | undefined =>
  names.find((one) => one === name);
