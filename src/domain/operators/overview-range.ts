/** What the overview may show: each range in bars of so many seconds. */
const shapes = {
  hour: { stepSeconds: 300, bars: 12 },
  day: { stepSeconds: 3_600, bars: 24 },
  week: { stepSeconds: 21_600, bars: 28 },
} as const;

export type OverviewRange = keyof typeof shapes;
export const overviewRanges = ['hour', 'day', 'week'] as const satisfies readonly OverviewRange[];

export interface RangeShape {
  /** Unix seconds. The last bar has begun, and is not over. */
  from: number;
  /** When the range of the same number of whole bars before began. */
  before: number;
  stepSeconds: number;
  /** The beginnings of the bars. */
  bars: number[];
}

/** A range that ends now, from the beginning of a bar on. */
export function overviewRange(range: OverviewRange, now: number): RangeShape {
  const { stepSeconds, bars } = shapes[range];
  const from = (Math.floor(now / stepSeconds) - bars + 1) * stepSeconds;
  return {
    from,
    before: from - bars * stepSeconds,
    stepSeconds,
    bars: Array.from({ length: bars }, (_, index) => from + index * stepSeconds),
  };
}
