import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { eventually } from '../support/eventually.ts';
import type { Gateway, TestProject } from '../support/gateway.ts';

/**
 * The requests of this key to the first API server, oldest first, read from the server's log. The function sends one more
 * request to find the current end of the log and leaves that request out.
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

/** Returns null for an incomplete last line and for output of Node, which is not JSON. */
function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
