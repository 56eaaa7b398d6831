import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { testConfig } from '../../support/test-config.ts';
import { nextDeliveryStep, type DeliveryResult } from '../../../src/domain/callbacks/callback-schedule.ts';
import { spec } from '../../spec/spec.ts';

/** The default schedule, loaded as in production. */
const retrySeconds = testConfig({
  DATABASE_URL: 'postgresql://127.0.0.1/none',
  KEY_PEPPERS: `p1:${Buffer.alloc(32, 1).toString('base64')}`,
  MASTER_KEYS: `m1:${Buffer.alloc(32, 2).toString('base64')}`,
}).callbacks.retryScheduleSeconds;

const answered = (status: number, retryAfterSeconds: number | null = null): DeliveryResult => ({
  kind: 'answered',
  status,
  retryAfterSeconds,
});
const step = (n: number, result: DeliveryResult, random = 0.5) => nextDeliveryStep(n, result, { retrySeconds, random });

describe('the callback schedule', () => {
  it('waits 5 s, 5 min, 30 min, 2 h, 5 h, 10 h and 10 h between eight tries, then is exhausted', () => {
    spec('6 retries and giving up');
    const steps = Array.from({ length: 8 }, (_, index) => step(index + 1, answered(500)));
    expect(steps.slice(0, 7)).toEqual(
      [5, 300, 1_800, 7_200, 18_000, 36_000, 36_000].map((delaySeconds) => ({ state: 'pending', delaySeconds })),
    );
    expect(steps[7]).toEqual({ state: 'exhausted' });
  });

  it('varies every wait randomly by at most 20 percent', () => {
    expect(step(1, { kind: 'failed' }, 0)).toEqual({ state: 'pending', delaySeconds: 4 });
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 7 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (n, random) => {
          const next = step(n, answered(503), random);
          const base = retrySeconds[n - 1] ?? 0;
          return (
            next.state === 'pending' && next.delaySeconds >= base * 0.8 - 1e-9 && next.delaySeconds <= base * 1.2 + 1e-9
          );
        },
      ),
    );
  });

  it.each([
    [1, 5],
    [5, 5],
    [7, 7],
    [10, 10],
    [86_400, 10],
    [0, 5],
  ])('reads a Retry-After of %d s as %d s if the scheduled wait is 5 s', (retryAfter, waits) => {
    expect(step(1, answered(429, retryAfter), 0)).toEqual({ state: 'pending', delaySeconds: waits });
    expect(step(1, answered(503, retryAfter), 0.99)).toEqual({ state: 'pending', delaySeconds: waits });
  });

  it('ends as delivered after any 2xx and no other status', () => {
    for (const status of [200, 201, 202, 204, 299]) expect(step(1, answered(status))).toEqual({ state: 'delivered' });
    for (const status of [100, 199, 300, 400, 404, 429, 500]) expect(step(1, answered(status)).state).toBe('pending');
  });

  it('ends as gone after 410 and as blocked after a blocked address, at any try', () => {
    for (const n of [1, 4, 8]) {
      expect(step(n, answered(410))).toEqual({ state: 'gone' });
      expect(step(n, { kind: 'blocked' })).toEqual({ state: 'blocked' });
    }
  });

  it.each([301, 302, 303, 307, 308])('counts a redirect (%d) as a failure', (status) => {
    expect(step(1, answered(status)).state).toBe('pending');
    expect(step(8, answered(status))).toEqual({ state: 'exhausted' });
  });

  it('ends as delivered if the last try succeeds, and as exhausted if it fails or gets a Retry-After', () => {
    expect(step(8, answered(200))).toEqual({ state: 'delivered' });
    expect(step(8, answered(429, 5))).toEqual({ state: 'exhausted' });
    expect(step(8, { kind: 'failed' })).toEqual({ state: 'exhausted' });
  });
});
