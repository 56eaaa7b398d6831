import { z } from 'zod';
import type { Gateway } from '../support/gateway.ts';

export interface RunRow {
  id: string;
  name: string;
  trigger: string;
  state: string;
  summary: Record<string, unknown> | null;
}

/** Every run that the database remembers, oldest first. */
export const runsOf = ({ database }: Gateway, name: string): Promise<RunRow[]> =>
  database.query<RunRow & Record<string, unknown>>(
    {
      name: 'test-job-runs',
      text: 'select id, name, trigger, state, summary from job_run where name = $1 order by requested_at, id',
    },
    [name],
  );

export interface Told {
  status: number;
  body: Record<string, unknown>;
  headers: Headers;
}

/** What an external scheduler does: one POST with a job token, or what else is asked for. */
export async function callJob(
  gateway: Gateway,
  name: string,
  { method = 'POST', token = gateway.env['INTERNAL_JOB_TOKENS'] ?? '', baseUrl = gateway.baseUrl } = {},
): Promise<Told> {
  const response = await fetch(`${baseUrl}/api/internal/jobs/${name}`, {
    method,
    headers: token === '' ? {} : { authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(20_000),
  });
  return {
    status: response.status,
    body: z.record(z.string(), z.unknown()).parse(await response.json()),
    headers: response.headers,
  };
}

/** The error's code in the openai dialect. */
export const codeOf = ({ body }: Told): unknown =>
  z.object({ error: z.object({ code: z.string() }) }).parse(body).error.code;
