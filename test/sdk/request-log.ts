import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { eventually } from '../support/eventually.ts';
import type { Gateway, TestProject } from '../support/gateway.ts';

/**
 * What this key has asked of the gateway's first API until now, from the API's own log, oldest first. One more request is
 * sent to know where the log's end is; it is left out.
 */
export async function requestsOf(
  gateway: Gateway,
  { keyId, apiKey }: Pick<TestProject, 'keyId' | 'apiKey'>,
): Promise<{ path: string; status: number }[]> {
  const last = (await gateway.get(apiKey, '/api/v1/models')).headers.get('x-request-id');
  const lines = await eventually(
    async () => {
      const log = (await readFile(join(gateway.logFolder, 'api-1.log'), 'utf8')).trim().split('\n');
      const requests = log.flatMap((line) => Line.safeParse(parse(line)).data ?? []);
      const end = requests.findIndex(({ request_id: id }) => id === last);
      return end >= 0 && requests.slice(0, end);
    },
    { what: 'the last line of the log' },
  );
  return lines.filter((line) => line.key_id === keyId).map(({ path, status }) => ({ path, status }));
}

const Line = z.object({
  msg: z.literal('request'),
  request_id: z.string(),
  key_id: z.string().optional(),
  path: z.string(),
  status: z.number(),
});

/** The last line may be half written, and what Node itself prints is no JSON. */
function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
