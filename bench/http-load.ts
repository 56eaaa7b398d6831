import { Pool } from 'undici';

export interface Load {
  origin: string;
  path: string;
  connections: number;
  seconds: number;
  /** Headers and body of the n-th request, and its path if it has one of its own. A request without a body is a GET. */
  request: (n: number) => { headers: Record<string, string>; body?: string; path?: string };
  /** The expected status of every answer; 200 by default. */
  status?: number;
}

export interface LoadResult {
  requests: number;
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
}

/** Sends requests one after the other on each connection, for the given time. Any other status fails the run. */
export async function sendLoad({ seconds, ...load }: Load): Promise<LoadResult> {
  const until = performance.now() + seconds * 1_000;
  return sendWhile(load, () => performance.now() < until);
}

/** Sends this many requests, one after the other on each connection. Any other status fails the run. */
export const sendRequests = ({
  requests,
  ...load
}: Omit<Load, 'seconds'> & { requests: number }): Promise<LoadResult> => sendWhile(load, (sent) => sent < requests);

async function sendWhile(
  { origin, connections, request, status = 200, ...load }: Omit<Load, 'seconds'>,
  goesOn: (sent: number) => boolean,
): Promise<LoadResult> {
  const pool = new Pool(origin, { connections, pipelining: 1 });
  const latencies: number[] = [];
  let next = 0;
  const began = performance.now();
  const lane = async (): Promise<void> => {
    while (goesOn(next)) {
      const { headers, body, path = load.path } = request(next++);
      const at = performance.now();
      const answer = await pool.request({ method: body === undefined ? 'GET' : 'POST', path, headers, body });
      const text = await answer.body.text();
      if (answer.statusCode !== status)
        throw new Error(`The request was answered with ${answer.statusCode}: ${text.slice(0, 300)}`);
      latencies.push(performance.now() - at);
    }
  };
  try {
    await Promise.all(Array.from({ length: connections }, lane));
  } finally {
    await pool.destroy();
  }
  const tookSeconds = (performance.now() - began) / 1_000;
  const sorted = latencies.sort((a, b) => a - b);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return {
    requests: sorted.length,
    perSecond: sorted.length / tookSeconds,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
  };
}
