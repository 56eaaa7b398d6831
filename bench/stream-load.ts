import { setTimeout as sleep } from 'node:timers/promises';
import { Pool, type Dispatcher } from 'undici';
import { Durations } from './durations.ts';

export interface StreamLoad {
  origin: string;
  path: string;
  /** Streams at the same time. */
  streams: number;
  /** How long one stream takes. The first ones start one after the other within this time. */
  secondsPerStream: number;
  /** How long is measured, once all streams run. */
  seconds: number;
  request: (n: number) => { headers: Record<string, string>; body: string };
  /** Called when the measured time begins and when it ends. */
  onWindow: (edge: 'begin' | 'end') => void;
}

export interface StreamResult {
  /** Streams that began in the measured time, and tokens that came in it. */
  began: number;
  tokens: number;
  /** From a request to its first token. */
  first: Durations;
  /** Between two tokens of one stream. Tokens that arrive together have none. */
  gaps: Durations;
}

/**
 * Keeps a number of streams running: when one ends, the next begins. Resolves when the last one has ended. A stream that is refused or
 * ends without `[DONE]` fails the run.
 */
export async function sendStreams(load: StreamLoad): Promise<StreamResult> {
  const pool = new Pool(load.origin, { connections: load.streams, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 });
  const result: StreamResult = { began: 0, tokens: 0, first: new Durations(), gaps: new Durations() };
  const rampMs = load.secondsPerStream * 1_000;
  const from = performance.now() + rampMs;
  const until = from + load.seconds * 1_000;
  let next = 0;
  const lane = async (index: number): Promise<void> => {
    await sleep((index / load.streams) * rampMs);
    while (performance.now() < until) await readStream(pool, load, next++, { from, until, result });
  };
  const windows = Promise.all([
    sleep(rampMs).then(() => load.onWindow('begin')),
    sleep(rampMs + load.seconds * 1_000).then(() => load.onWindow('end')),
  ]);
  try {
    await Promise.all([windows, ...Array.from({ length: load.streams }, (_, index) => lane(index))]);
  } finally {
    await pool.destroy();
  }
  return result;
}

interface Window {
  from: number;
  until: number;
  result: StreamResult;
}

const tokenMark = Buffer.from('"content":');
const doneMark = Buffer.from('[DONE]');

function readStream(pool: Pool, { path, request }: StreamLoad, n: number, window: Window): Promise<void> {
  const { from, until, result } = window;
  const { headers, body } = request(n);
  const startedAt = performance.now();
  const isMeasured = startedAt >= from && startedAt < until;
  if (isMeasured) result.began += 1;
  let lastAt: number | null = null;
  let isDone = false;
  return new Promise((resolve, reject) => {
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart: () => undefined,
      onResponseStart(_controller, status) {
        if (status !== 200) reject(new Error(`A stream was answered with ${status}`));
      },
      onResponseData(_controller, chunk) {
        const now = performance.now();
        const tokens = countOf(tokenMark, chunk);
        if (chunk.includes(doneMark)) isDone = true;
        if (tokens === 0) return;
        if (lastAt === null && isMeasured) result.first.add(now - startedAt);
        if (now >= from && now < until) {
          result.tokens += tokens;
          if (lastAt !== null) result.gaps.add(now - lastAt);
        }
        lastAt = now;
      },
      onResponseEnd() {
        if (isDone) resolve();
        else reject(new Error('A stream ended early'));
      },
      onResponseError: (_controller, error) => reject(error),
    };
    pool.dispatch({ method: 'POST', path, headers, body }, handler);
  });
}

function countOf(mark: Buffer, bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(mark); at >= 0; at = bytes.indexOf(mark, at + mark.length)) count += 1;
  return count;
}
