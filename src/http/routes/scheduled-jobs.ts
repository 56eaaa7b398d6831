import type { ScheduledJobDeps } from '../../services/scheduled-jobs/scheduled-job-table.ts';
import { listRuns, presentRun, requestScheduledJob } from '../../services/scheduled-jobs/request-scheduled-job.ts';
import { GatewayError } from '../../domain/errors.ts';
import { scheduledJobNames, type ScheduledJobName } from '../../domain/tasks/scheduled-job.ts';
import type { AppMiddleware } from '../context.ts';
import { queryReader, queryNumber } from '../request/query.ts';
import type { Route } from '../route.ts';

/** The internal endpoints of spec §4.8, for an external scheduler with a job token. At most `callsMax` of them are answered at a time. */
export function scheduledJobRoutes(deps: ScheduledJobDeps): Route[] {
  const bounded = boundCalls(callsMax);
  const shared = { auth: 'job_token', dialect: 'openai', body: 'none' } as const;
  const path = (name: ScheduledJobName) => `/api/internal/jobs/${name}`;
  return [
    ...scheduledJobNames.map((name): Route => ({
      ...shared,
      method: 'POST',
      path: path(name),
      handler: bounded(startScheduledJob(deps, name)),
    })),
    {
      ...shared,
      method: 'GET',
      path: path(maintenance),
      query: runsQuery,
      handler: bounded(showRuns(deps, maintenance)),
    },
  ];
}

const maintenance = 'scheduled-maintenance';

/** Twice the number of jobs, of which one run each can be under way. The routes are on the public port, and a call may wait for seconds. */
const callsMax = 2 * scheduledJobNames.length;

/** Answers 503 `overloaded` to the calls beyond `max` that run at the same time. */
function boundCalls(max: number): (handler: AppMiddleware) => AppMiddleware {
  let running = 0;
  return (handler) => async (ctx, next) => {
    if (running >= max) throw new GatewayError('overloaded', { retryAfterSeconds: 1 });
    running += 1;
    try {
      await handler(ctx, next);
    } finally {
      running -= 1;
    }
  };
}

/** 200 with a run that has ended, 202 with the id of one that is still running, 500 for one that failed. */
const startScheduledJob =
  (deps: ScheduledJobDeps, name: ScheduledJobName): AppMiddleware =>
  async (ctx) => {
    const answer = await requestScheduledJob(deps, name);
    if (answer.kind === 'already_running') {
      ctx.body = { ran: false, reason: 'already_running' };
      return;
    }
    if (answer.kind === 'under_way') {
      ctx.status = 202;
      ctx.body = { run_id: answer.runId, name };
      return;
    }
    const { run } = answer;
    if (run.state !== 'succeeded') {
      throw new GatewayError('internal_error', { message: `The run ${run.runId} of ${name} ended as ${run.state}.` });
    }
    ctx.body = { ...presentRun(run), ran: true };
  };

const runsQuery = { limit: queryNumber('The most runs; 50 if absent.', { max: 100 }) };
const readRunsQuery = queryReader(runsQuery);

/** `GET /api/internal/jobs/scheduled-maintenance?limit=`: the latest runs, newest first; 1 to 100 of them, 50 by default. */
const showRuns =
  (deps: ScheduledJobDeps, name: ScheduledJobName): AppMiddleware =>
  async (ctx) => {
    const { limit = 50 } = readRunsQuery(ctx);
    ctx.body = { data: await listRuns(deps, name, limit) };
  };
