import { z } from 'zod';
import { eventually } from '../../support/eventually.ts';
import type { Gateway } from '../../support/gateway.ts';

export interface RunRow {
  id: string;
  name: string;
  trigger: string;
  state: string;
  summary: Record<string, unknown> | null;
}

/** All stored runs of a job, oldest first. */
export const runsOf = ({ database }: Gateway, name: string): Promise<RunRow[]> =>
  database.query<RunRow>(
    'test-job-runs',
    'select id, name, trigger, state, summary from job_run where name = $1 order by requested_at, id',
    [name],
  );

export interface ScheduledJobReply {
  status: number;
  body: Record<string, unknown>;
  headers: Headers;
}

/** Calls a job route as an external scheduler does. */
export async function callScheduledJob(
  gateway: Gateway,
  name: string,
  { method = 'POST', token = gateway.env['INTERNAL_JOB_TOKENS'] ?? '', baseUrl = gateway.baseUrl } = {},
): Promise<ScheduledJobReply> {
  const response = await fetch(`${baseUrl}/api/internal/jobs/${name}`, {
    method,
    headers: token === '' ? {} : { authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(60_000),
  });
  return {
    status: response.status,
    body: z.record(z.string(), z.unknown()).parse(await response.json()),
    headers: response.headers,
  };
}

/**
 * Calls a job and returns its run once it has ended. If the endpoint answers 202, because the run takes longer than the endpoint
 * waits, reads the run's row. Calls again while another run is under way, which a Schedule began, or Temporal late for a former call.
 */
export async function runByCall(
  gateway: Gateway,
  name: string,
  options: Parameters<typeof callScheduledJob>[2] = {},
): Promise<ScheduledJobReply> {
  const reply = await eventually(
    async () => {
      const answer = await callScheduledJob(gateway, name, options);
      return answer.body['reason'] !== 'already_running' && answer;
    },
    { secondsMax: 60, what: `a run of ${name}` },
  );
  if (reply.status !== 202) return reply;
  const { id, ...run } = await eventually(
    async () => {
      const recorded = (await runsOf(gateway, name)).find((each) => each.id === reply.body['run_id']);
      return recorded && !isUnderWay(recorded) && recorded;
    },
    { secondsMax: 60, what: `the end of a run of ${name}` },
  );
  return { ...reply, body: { run_id: id, ...run, ran: true } };
}

export const isUnderWay = ({ state }: RunRow): boolean => state === 'requested' || state === 'running';

export const codeOf = ({ body }: ScheduledJobReply): unknown =>
  z.object({ error: z.object({ code: z.string() }) }).parse(body).error.code;
