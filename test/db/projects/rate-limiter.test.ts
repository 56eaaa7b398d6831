import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Database } from '../../../src/db/database.ts';
import { RateLimiter } from '../../../src/db/projects/rate-limiter.ts';
import { newId, patienceMs, rowsOf, run } from '../books.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';

let scratch: TestDatabase;
let db: Database;
let limiter: RateLimiter;
/** The limiter of another process. */
let otherLimiter: RateLimiter;

const openLimiter = (database: Database) => new RateLimiter(database, { membersMax: 128, patienceMs });

beforeAll(async () => {
  scratch = await createTestDatabase();
  const [first, second] = await Promise.all([scratch.open(), scratch.open()]);
  db = first;
  limiter = openLimiter(first);
  otherLimiter = openLimiter(second);
});
afterAll(() => scratch?.drop());

describe('the rate limiter', () => {
  /** How many requests of the key are counted. */
  const usedOf = async (keyId: string) =>
    (await rowsOf<{ total: number }>(db, 'select total from rate_window where key_id = $1', [keyId]))[0]?.total;
  /** Counts one request of a key with a limit of ten. */
  const hit = (keyId: string) => limiter.hit(keyId, 10);
  /** Writes requests as if they had been counted `secondsAgo`, by the clock of the database. */
  const plant = (keyId: string, secondsAgo: number, n: number) =>
    run(
      db,
      `insert into rate_window (key_id, second, oldest, counts, total)
       select $1, at, at, $3::int || array_fill(0, array[60]), $3::int
       from (select floor(extract(epoch from clock_timestamp()))::bigint - $2::int as at) planted`,
      [keyId, secondsAgo, n],
    );

  /** The clock of the database, in whole seconds. */
  const second = async (): Promise<number> => {
    const text = 'select floor(extract(epoch from clock_timestamp()))::bigint as now';
    return (await rowsOf<{ now: number }>(db, text))[0]?.now ?? 0;
  };

  it('admits no request up to 60 seconds after ten others, and returns a valid Retry-After', async () => {
    // After 59.1 seconds the whole seconds of the clock may differ by 60, and the requests must still count.
    for (const secondsAgo of [60, 59, 30, 1])
      for (let tries = 1; ; tries += 1) {
        const keyId = newId('key');
        const before = await second();
        await plant(keyId, secondsAgo, 10);
        const verdicts = await Promise.all(Array.from({ length: 10 }, () => hit(keyId)));
        // On a slow machine the written requests may have left the window meanwhile. Then the test writes them again.
        if (secondsAgo + (await second()) - before > 60 && tries < 30) continue;
        expect(verdicts.filter(({ admitted }) => admitted)).toEqual([]);
        for (const { remaining, retryAfterSeconds } of verdicts) {
          expect(remaining).toBe(0);
          expect(retryAfterSeconds).toBeLessThanOrEqual(61 - secondsAgo);
          expect(retryAfterSeconds).toBeGreaterThanOrEqual(1);
        }
        break;
      }
  });

  it('forgets requests after 61 seconds, and returns a Retry-After that is exact to four seconds', async () => {
    const keyId = newId('key');
    await plant(keyId, 61, 10);
    expect(await hit(keyId)).toMatchObject({ admitted: true, remaining: 9 });
    expect(await usedOf(keyId)).toBe(1);

    for (let tries = 1; ; tries += 1) {
      const waiting = newId('key');
      const before = await second();
      await plant(waiting, 40, 10);
      const { retryAfterSeconds } = await hit(waiting);
      const passes = async (seconds: number) => {
        await run(db, 'update rate_window set second = second - $2::int, oldest = oldest - $2::int where key_id = $1', [
          waiting,
          seconds,
        ]);
        return (await hit(waiting)).admitted;
      };
      const passesEarly = await passes((retryAfterSeconds ?? 0) - 4);
      // On a slow machine the rest of the time may have passed meanwhile. Then the test writes them again.
      if ((await second()) - before > 2 && tries < 30) continue;
      expect(passesEarly).toBe(false);
      expect(await passes(4)).toBe(true);
      break;
    }
  });

  it('still counts requests of a later second after the clock has gone back', async () => {
    const keyId = newId('key');
    await plant(keyId, -30, 10);
    expect(await hit(keyId)).toMatchObject({ admitted: false });
    expect(await usedOf(keyId)).toBe(10);
  });

  it('admits exactly ten of two hundred requests to two processes, and does not limit another key', async () => {
    const [busy, idle] = [newId('key'), newId('key')];
    const verdicts = await Promise.all(
      Array.from({ length: 200 }, (_, index) => (index % 2 === 0 ? limiter : otherLimiter).hit(busy, 10)),
    );
    expect(verdicts.filter(({ admitted }) => admitted)).toHaveLength(10);
    expect(await hit(idle)).toMatchObject({ admitted: true, remaining: 9 });
  });
});

describe('count_rates over any arrival times', () => {
  interface Arrival {
    atMs: number;
    requests: number;
  }
  interface Verdict {
    atMs: number;
    admitted: boolean;
    retryAfter: number | null;
  }

  // The same function, with a clock that the test sets.
  beforeAll(async () => {
    const [found] = await rowsOf<{ definition: string }>(
      db,
      `select pg_get_functiondef(oid) as definition from pg_proc where proname = 'count_rates'`,
    );
    const timed = found?.definition
      .replaceAll('clock_timestamp()', `to_timestamp(current_setting('test.now_ms')::float8 / 1000)`)
      .replace('count_rates(', 'timed_count_rates(');
    expect(timed).toContain('test.now_ms');
    await run(db, timed ?? '');
    await run(
      db,
      `create function arrive(p_key text, p_rpm int, times bigint[], requests int[])
       returns table (at_ms bigint, admitted boolean, retry_after int) language plpgsql as $$
       begin
         for i in 1..cardinality(times) loop
           perform set_config('test.now_ms', times[i]::text, true);
           return query select times[i], n <= rate.granted[1], case when n > rate.granted[1] then rate.reset_after[1] end
             from timed_count_rates(array[p_key], array[p_rpm], array[requests[i]], 1, i, false) rate,
                  generate_series(1, requests[i]) n order by n;
         end loop;
       end $$`,
    );
  });

  /** The verdict of each request, in order. */
  const arrive = (keyId: string, rpm: number, arrivals: readonly Arrival[]): Promise<Verdict[]> =>
    rowsOf<Verdict>(db, 'select * from arrive($1, $2, $3, $4)', [
      keyId,
      rpm,
      arrivals.map(({ atMs }) => atMs),
      arrivals.map(({ requests }) => requests),
    ]);

  const start = 1_800_000_000_000;
  const aroundASecondsEdge = fc.integer({ min: -2, max: 2 });
  /** Milliseconds between two arrivals: bursts, edges of seconds, and edges of the window. */
  const anyGap = fc.oneof(
    fc.constant(0),
    fc.integer({ min: 1, max: 3 }),
    fc.integer({ min: 1, max: 30_000 }),
    fc.tuple(fc.integer({ min: 1, max: 61 }), aroundASecondsEdge).map(([seconds, ms]) => seconds * 1_000 + ms),
    fc.tuple(fc.constantFrom(59, 60, 61), fc.integer({ min: -999, max: 999 })).map(([s, ms]) => s * 1_000 + ms),
  );
  const anyArrivals = fc
    .record({
      first: fc.oneof(aroundASecondsEdge, fc.integer({ min: 0, max: 999 })),
      rest: fc.array(fc.record({ gap: anyGap, requests: fc.integer({ min: 1, max: 25 }) }), {
        minLength: 1,
        maxLength: 30,
      }),
    })
    .map(({ first, rest }): Arrival[] => {
      let atMs = start + first;
      return rest.map(({ gap, requests }) => ({ atMs: (atMs += gap), requests }));
    });
  const anyRpm = fc.integer({ min: 1, max: 20 });

  it('admits at most the limit in every window of 60 seconds', async () => {
    await fc.assert(
      fc.asyncProperty(anyRpm, anyArrivals, async (rpm, arrivals) => {
        const verdicts = await arrive(newId('key'), rpm, arrivals);
        const admitted = verdicts.filter((verdict) => verdict.admitted).map(({ atMs }) => atMs);
        // It suffices to count windows that begin with a request: any other window contains no more requests than one of these.
        const mostInAWindow = admitted.map((from) => admitted.filter((at) => at >= from && at <= from + 60_000).length);
        expect(Math.max(...mostInAWindow)).toBeLessThanOrEqual(rpm);
      }),
      { numRuns: 300 },
    );
  });

  it('admits a refused request if the client alone repeats it after its Retry-After', async () => {
    await fc.assert(
      fc.asyncProperty(anyRpm, anyArrivals, async (rpm, arrivals) => {
        const keyId = newId('key');
        // The last of 21 requests exceeds every limit.
        const atMs = arrivals.at(-1)?.atMs ?? start;
        const refused = (await arrive(keyId, rpm, [...arrivals, { atMs, requests: 21 }])).at(-1);
        expect(refused).toMatchObject({ admitted: false, retryAfter: expect.any(Number) });
        const again = { atMs: atMs + (refused?.retryAfter ?? 0) * 1_000, requests: 1 };
        expect(await arrive(keyId, rpm, [again])).toMatchObject([{ admitted: true }]);
      }),
      { numRuns: 100 },
    );
  });

  it('admits the whole limit at once after 61 idle seconds', async () => {
    await fc.assert(
      fc.asyncProperty(anyRpm, anyArrivals, fc.nat({ max: 5_000 }), async (rpm, arrivals, extraMs) => {
        const keyId = newId('key');
        await arrive(keyId, rpm, arrivals);
        const atMs = (arrivals.at(-1)?.atMs ?? start) + 61_000 + extraMs;
        const verdicts = await arrive(keyId, rpm, [{ atMs, requests: rpm + 1 }]);
        expect(verdicts.filter(({ admitted }) => admitted)).toHaveLength(rpm);
      }),
      { numRuns: 100 },
    );
  });
});
