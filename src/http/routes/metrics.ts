import type { Route } from '../route.ts';

/**
 * `GET /metrics`: the metrics of this process in Prometheus' text format. It needs `METRICS_TOKEN` if one is set. Without one it
 * belongs on a listener that only operators can reach.
 */
export const metricsRoute = ({ page }: { page: () => Promise<string> }): Route => ({
  method: 'GET',
  path: '/metrics',
  auth: 'metrics_token',
  dialect: 'openai',
  body: 'none',
  // Pages that are made at the same time would take megabytes each.
  isList: true,
  handler: async (ctx) => {
    ctx.set('content-type', 'text/plain; version=0.0.4; charset=utf-8');
    ctx.body = await page();
  },
});
