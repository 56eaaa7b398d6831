import type { Counters } from '../../platform/observe/metrics.ts';
import type { Route } from '../route.ts';

/**
 * `GET /metrics`: the counters of this API server in Prometheus' text format, each named `tollgate_…`. It needs no credential, so it
 * belongs on a listener that only operators can reach.
 */
export const metricsRoute = ({ read }: { read: () => Promise<Counters> }): Route => ({
  method: 'GET',
  path: '/metrics',
  auth: 'none',
  dialect: 'openai',
  body: 'none',
  handler: async (ctx) => {
    ctx.set('content-type', 'text/plain; version=0.0.4; charset=utf-8');
    ctx.body = inPrometheusText(await read());
  },
});

/** All lines of a metric family must follow its TYPE line, or Prometheus refuses the page. */
function inPrometheusText(counters: Counters): string {
  const families = new Map<string, string[]>();
  for (const [name, value] of Object.entries(counters)) {
    const family = `tollgate_${name.split('{', 1).join('')}`;
    const lines = families.get(family) ?? [`# TYPE ${family} counter`];
    lines.push(`tollgate_${name} ${value}`);
    families.set(family, lines);
  }
  return [...families.values()].flatMap((lines) => lines.map((line) => `${line}\n`)).join('');
}
