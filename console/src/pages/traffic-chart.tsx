import { Group } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import type { Overview } from '../api/admin-types.ts';
import { ChartTable } from '../ui/chart-table.tsx';
import { number } from '../ui/format.ts';

const hour = new Intl.DateTimeFormat('en-GB', {
  hour: '2-digit',
  minute: '2-digit',
  weekday: 'short',
  timeZone: 'UTC',
});
const hoursPerLabel = 6;

/**
 * The requests of each hour since yesterday, with a table of the same numbers for those who do not see it. Drawn here, because the library
 * of the other charts takes half a second on a small machine to load and draw, on the page that everybody opens first.
 */
export function TrafficChart({ hours }: { hours: Overview['hours'] }) {
  const navigate = useNavigate();
  const bars = hours.map(({ at, requests, failed }) => ({ start: at, at: hour.format(at * 1_000), requests, failed }));
  const open = (start: number): void =>
    void navigate({
      to: '/requests',
      search: { created_after: String(start), created_before: String(start + 3_600) },
    });
  const top = roundUp(Math.max(...bars.map(({ requests }) => requests)));
  return (
    <>
      <div className="traffic" aria-hidden="true">
        <Group justify="flex-end" gap="md" mb="xs">
          <span className="traffic-name failed">Failed</span>
          <span className="traffic-name succeeded">Succeeded</span>
        </Group>
        <div className="traffic-plot">
          {[top, top / 2, 0].map((value) => (
            <span key={value} className="traffic-line">
              <span>{number(value)}</span>
            </span>
          ))}
          <svg viewBox={`0 0 ${bars.length} ${top}`} preserveAspectRatio="none">
            {bars.map(({ start, at, requests, failed }, index) => (
              <g key={at} className="traffic-bar" onClick={() => open(start)}>
                <rect className="traffic-hit" x={index} width={1} y={0} height={top} />
                <title>{`${at}: ${number(requests - failed)} succeeded, ${number(failed)} failed`}</title>
                <rect
                  className="succeeded"
                  x={index + 0.1}
                  width={0.8}
                  y={top - requests + failed}
                  height={requests - failed}
                />
                <rect className="failed" x={index + 0.1} width={0.8} y={top - requests} height={failed} />
              </g>
            ))}
          </svg>
        </div>
        <div className="traffic-hours">
          {bars.map(
            ({ at }, index) =>
              // Two hours from the end there is no room for another label.
              index % hoursPerLabel === 0 &&
              index < bars.length - 2 && (
                <span key={at} style={{ left: `${((100 * index) / bars.length).toFixed(2)}%` }}>
                  {at}
                </span>
              ),
          )}
        </div>
      </div>
      <ChartTable
        caption="Requests per hour"
        first="Hour (UTC)"
        columns={['Succeeded', 'Failed']}
        rows={bars.map(({ at, requests, failed }) => ({ name: at, values: [requests - failed, failed] }))}
      />
    </>
  );
}

/** The next of 2, 4, 10, 20, 40, 100 …, whose halves are whole. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1)));
  return [2, 4, 10].map((step) => step * power).find((step) => step >= value) ?? 10 * power;
}
