import { Group } from '@mantine/core';
import type { RangeOverview } from '../api/admin-types.ts';
import { ChartTable } from '../ui/chart-table.tsx';
import { hourAndDay, number, zoneName } from '../ui/format.ts';
import { PageLink } from '../ui/links.tsx';

const barsPerLabel = 6;

/**
 * The requests of a range, bar by bar, with a table of the same numbers for those who do not see it. Each bar is a link to its requests. Drawn here,
 * because the library of the other charts takes half a second on a small machine to load and draw, on the page that everybody opens first.
 */
export function TrafficChart({ range, title }: { range: RangeOverview; title: string }) {
  const bars = range.bars.map((bar) => ({ ...bar, name: hourAndDay(bar.at) }));
  const top = roundUp(Math.max(...bars.map(({ requests }) => requests)));
  const height = (count: number): string => `${((100 * count) / top).toFixed(2)}%`;
  return (
    <>
      <div className="traffic">
        <Group justify="flex-end" gap="md" mb="xs" aria-hidden="true">
          <span className="traffic-name failed">Failed, refused or left</span>
          <span className="traffic-name succeeded">Succeeded</span>
        </Group>
        <div ref={showEnd} className="scroller" tabIndex={0} role="region" aria-label={`${title}, bar by bar`}>
          <div style={{ minWidth: `calc(${25 * bars.length}px + var(--traffic-axis))` }}>
            <div className="traffic-plot">
              {[top, top / 2, 0].map((value) => (
                <span key={value} className="traffic-line" aria-hidden="true">
                  <span>{number(value)}</span>
                </span>
              ))}
              <div className="traffic-bars">
                {bars.map(({ at, until, name, requests, failed }) => (
                  <PageLink
                    key={at}
                    to="/requests"
                    search={{ created_after: String(at), created_before: String(until) }}
                    className="traffic-bar"
                    aria-label={`${name} to ${hourAndDay(until)}: ${number(requests - failed)} succeeded, ${number(failed)} failed, refused or left`}
                    title={`${name}: ${number(requests - failed)} succeeded, ${number(failed)} failed, refused or left`}
                  >
                    <span className="failed" style={{ height: height(failed) }} />
                    <span className="succeeded" style={{ height: height(requests - failed) }} />
                  </PageLink>
                ))}
              </div>
            </div>
            <div className="traffic-hours" aria-hidden="true">
              {bars.map(
                ({ at, name }, index) =>
                  // Two bars from the end there is no room for another label.
                  index % barsPerLabel === 0 &&
                  index < bars.length - 2 && (
                    <span key={at} style={{ left: `${((100 * index) / bars.length).toFixed(2)}%` }}>
                      {name}
                    </span>
                  ),
              )}
            </div>
          </div>
        </div>
      </div>
      <ChartTable
        caption={title}
        first={`From (${zoneName()})`}
        columns={['Succeeded', 'Failed, refused or left']}
        rows={bars.map(({ name, requests, failed }) => ({ name, values: [requests - failed, failed] }))}
      />
    </>
  );
}

/** A phone has room for the newest bars only. */
function showEnd(scroller: HTMLDivElement | null): void {
  if (scroller) scroller.scrollLeft = scroller.scrollWidth;
}

/** The next of 2, 4, 10, 20, 40, 100 …, whose halves are whole. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1)));
  return [2, 4, 10].map((step) => step * power).find((step) => step >= value) ?? 10 * power;
}
