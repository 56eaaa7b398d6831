import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Database } from '../../src/db/database.ts';
import {
  foldTraffic,
  readTraffic,
  readTrafficParts,
  type Traffic,
  type TrafficReport,
} from '../../src/db/operators/overview.ts';
import { readRangeTraffic } from '../../src/db/operators/traffic-range.ts';
import { overviewRange } from '../../src/domain/operators/overview-range.ts';
import { sumUsage } from '../../src/db/ledger/usage.ts';
import { awayFromMidnight } from '../support/away-from-midnight.ts';
import { eventually } from '../support/eventually.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { openBook, rowsOf, run, type Book } from './books.ts';

await awayFromMidnight();

let scratch: TestDatabase;
let db: Database;
let book: Book;

beforeAll(async () => {
  scratch = await createTestDatabase();
  db = await scratch.open();
  book = await openBook(db, { credits: 1_000_000 });
});
afterAll(() => scratch.drop());

/** Entries at each 97th second of the last three days, every fifth a failure and every seventh given back, and their attempts. */
async function writeEntries(from: number, to: number): Promise<void> {
  const at = `clock_timestamp() - interval '3 days' * (1 - n::float8 / 2670)`;
  const who = `'${book.projectId}', '${book.keyId}', 'req_' || n`;
  const numbers = `from generate_series(${from}, ${to}) n`;
  await run(
    db,
    `insert into ledger_entry (project_id, key_id, request_id, kind, credits, balance_after, model_id, held, cost_micro_usd, began_at, created_at)
     select ${who}, case when n % 5 = 0 then 'refund' else 'settle' end, case when n % 5 = 0 then 0 else -n end, 0, 'model-a', n,
            case when n % 3 = 0 then 10 * n end, ${at} - n % 900 * interval '10 ms', ${at} ${numbers}`,
  );
  await run(
    db,
    `insert into ledger_entry (project_id, key_id, request_id, kind, credits, balance_after, reason, began_at, created_at)
     select ${who}, 'adjust', 1, 0, 'sorry', ${at}, ${at} ${numbers} where n % 7 = 0`,
  );
  await run(
    db,
    `insert into attempt (id, request_id, n, channel_id, channel_name, fence, submit_deadline, outcome, ended_at, cost_micro_usd)
     select 'att_' || n || '_' || call, 'req_' || n, call, 'chn_' || call, 'channel', 'fence', now(), case call when 1 then 'transient' else 'ok' end, now(), n
     ${numbers}, generate_series(1, 2) call where n % 3 <> 0`,
  );
}

/** What the overview shows, by the entries themselves. */
async function counted(condition: string): Promise<Traffic> {
  const [row] = await rowsOf<Traffic>(
    db,
    `select count(*) filter (where kind <> 'adjust') as requests, count(*) filter (where kind = 'refund') as failed,
       coalesce(-sum(credits), 0)::bigint as credits,
       coalesce(sum(coalesce(cost_micro_usd, (select sum(a.cost_micro_usd) from attempt a where a.request_id = e.request_id and a.outcome = 'ok')))
         filter (where kind <> 'adjust'), 0)::bigint as cost_micro_usd,
       percentile_disc(0.5) within group (order by extract(epoch from created_at - began_at) * 1000) filter (where kind = 'settle')::float8 as p50_ms,
       percentile_disc(0.95) within group (order by extract(epoch from created_at - began_at) * 1000) filter (where kind = 'settle')::float8 as p95_ms
     from ledger_entry e where kind <> 'topup' and ${condition}`,
  );
  if (!row) throw new Error('there is no row');
  return row;
}

/** Times are counted in classes that are 5 % wide. */
function expectLike({ p50Ms, p95Ms, ...sums }: Traffic, { p50Ms: p50, p95Ms: p95, ...expected }: Traffic): void {
  expect(sums).toEqual(expected);
  for (const [ms, exact] of [
    [p50Ms, p50],
    [p95Ms, p95],
  ] as const) {
    if (ms === null || exact === null) expect(ms).toBe(exact);
    else expect(Math.abs(ms / exact - 1)).toBeLessThan(0.03);
  }
}

/** A report in whose second of yesterday no request ended: which side of the cut that one is on cannot be told from the report. */
async function reportAwayFromEntries(): Promise<TrafficReport> {
  return eventually(async () => {
    const report = await readTraffic(db);
    const cut = `to_timestamp(${report.at}) - interval '1 day'`;
    const beside = await rowsOf(
      db,
      `select from ledger_entry where created_at >= ${cut} and created_at < ${cut} + interval '1 second'`,
    );
    return beside.length === 0 ? report : null;
  });
}

async function expectExact(): Promise<void> {
  const report = await reportAwayFromEntries();
  const today = `date_trunc('day', to_timestamp(${report.at}), 'UTC')`;
  const yesterday = `created_at >= ${today} - interval '1 day'`;
  expectLike(report.today, await counted(`created_at >= ${today}`));
  expectLike(
    report.yesterday,
    await counted(`${yesterday} and created_at < to_timestamp(${report.at}) - interval '1 day'`),
  );
  for (const { at, ...hour } of report.hours)
    expectLike(
      hour,
      await counted(`created_at >= to_timestamp(${at}) and created_at < to_timestamp(${at}) + interval '1 hour'`),
    );
  const all = await counted(yesterday);
  expect(report.hours.reduce((sum, { credits }) => sum + credits, 0)).toBe(all.credits);
}

/** The credits of each day of the last three in a zone, as usage shows them and by the entries themselves. */
async function creditsByDay(timeZone: string): Promise<{ shown: unknown; entered: unknown }> {
  const to = Math.ceil(Date.now() / 1_000) + 1;
  const rows = await sumUsage(
    db,
    { projectId: book.projectId, from: to - 3 * 86_400 + 1_234, to, timeZone, groups: ['day'] },
    100,
  );
  const entered = await rowsOf(
    db,
    `select to_char(created_at at time zone $1, 'YYYY-MM-DD') as day, count(*) filter (where kind <> 'adjust') as requests, -sum(credits)::bigint as credits
     from ledger_entry where kind <> 'topup' and created_at >= to_timestamp($2) group by 1 order by 1 desc`,
    [timeZone, to - 3 * 86_400 + 1_234],
  );
  const shown = rows
    .filter(({ isTotal }) => !isTotal)
    .map(({ day, requests, credits }) => ({ day, requests, credits }));
  return { shown, entered };
}

async function expectExactUsage(): Promise<void> {
  for (const timeZone of ['Europe/Berlin', 'Asia/Kolkata', 'America/St_Johns', 'Asia/Kathmandu']) {
    const { shown, entered } = await creditsByDay(timeZone);
    expect(shown).toEqual(entered);
  }
}

describe('the traffic of the overview', () => {
  it('is nothing in an empty ledger', async () => {
    await foldTraffic(db, 0);
    expect(await readTraffic(db)).toMatchObject({
      today: { requests: 0, p50Ms: null },
      yesterday: { credits: 0 },
      hours: [],
    });
  });

  it('tells refusals and clients that left from other failures, and the times of chats from those of tasks', async () => {
    const scratchToo = await createTestDatabase();
    const own = await scratchToo.open();
    const { projectId, keyId } = await openBook(own, { credits: 1_000 });
    const entries = [
      ['req_1', 'settle', null, 200],
      ['req_2', 'settle', null, 200],
      ['task_1', 'settle', null, 30_000],
      ['req_3', 'refund', 'content_policy_violation', 10],
      ['req_4', 'refund', 'client_left', 10],
      ['req_6', 'settle', 'client_left', 10],
      ['task_2', 'refund', 'canceled', 10],
      ['req_5', 'refund', 'upstream_failed', 10],
    ] as const;
    for (const [id, kind, reason, ms] of entries)
      await run(
        own,
        `insert into ledger_entry (project_id, key_id, request_id, kind, credits, balance_after, model_id, held, reason, began_at)
         values ($1, $2, $3, $4, 0, 0, 'model-a', 1, $5, clock_timestamp() - $6 * interval '1 ms')`,
        [projectId, keyId, id, kind, reason, ms],
      );
    for (const fold of [false, true]) {
      if (fold) await foldTraffic(own, 0);
      const { today } = await readTrafficParts(own);
      expect(today).toMatchObject({ refused: 1, left: 3 });
      expect(Math.abs((today.chatP50Ms ?? 0) / 200 - 1)).toBeLessThan(0.1);
      expect(Math.abs((today.mediaP50Ms ?? 0) / 30_000 - 1)).toBeLessThan(0.05);
      expect(await readTraffic(own)).toMatchObject({ today: { requests: 8, failed: 5 } });
    }
    await scratchToo.drop();
  });

  it('is that of every entry of the two days, however many of them were added up before', async () => {
    for (const [from, to] of [
      [1, 2_000],
      [2_001, 2_669],
    ] as const) {
      await writeEntries(from, to);
      await expectExact();
      // The newest entries stay for a later call.
      await foldTraffic(db, 3_600);
      await expectExact();
      await foldTraffic(db, 0);
      await expectExact();
    }
  });

  it('counts each entry once if processes add them up at the same time', async () => {
    await run(db, 'delete from traffic');
    await run(db, 'delete from usage_half_hour');
    await run(db, 'update traffic_mark set through_entry_id = 0');
    await Promise.all(Array.from({ length: 4 }, () => foldTraffic(db, 0)));
    await expectExact();
    // Of the days before yesterday there are whole hours.
    const old = `slot < date_trunc('day', now(), 'UTC') - interval '1 day'`;
    expect(await rowsOf(db, `select from traffic where ${old} and slot <> date_trunc('hour', slot)`)).toEqual([]);
    expect(await rowsOf(db, `select from traffic where ${old} limit 1`)).toHaveLength(1);
  });
});

describe('the traffic of a range', () => {
  it('is that of every entry of the last hour, day and week and of those before, in whole bars', async () => {
    for (const range of ['hour', 'day', 'week'] as const) {
      const now = Math.floor(Date.now() / 1_000);
      const shape = overviewRange(range, now);
      const report = await readRangeTraffic(db, shape);
      const [from, before] = [shape.from, shape.before].map((at) => `to_timestamp(${at})`);
      const { refused: _r, left: _l, unknownCosts: _u, chatP50Ms: _c, mediaP50Ms: _m, ...present } = report.now;
      expectLike(present, await counted(`created_at >= ${from}`));
      const { refused, left, unknownCosts, chatP50Ms, mediaP50Ms: _media, ...earlier } = report.before;
      expectLike(earlier, await counted(`created_at >= ${before} and created_at < ${from}`));
      expect({ refused, left, unknownCosts }).toEqual({ refused: 0, left: 0, unknownCosts: 0 });
      expect(chatP50Ms).toBe(earlier.p50Ms);
      for (const bar of report.bars) expect(shape.bars).toContain(bar.at);
      expect(report.bars.reduce((sum, { requests }) => sum + requests, 0)).toBe(report.now.requests);
      expect(report.countedFrom).toBeNull();
    }
  });

  it('says since when it counts where an earlier release has kept two days only', async () => {
    await run(db, `delete from traffic where slot < date_trunc('day', now(), 'UTC') - interval '1 day'`);
    const week = await readRangeTraffic(db, overviewRange('week', Math.floor(Date.now() / 1_000)));
    const [first] = await rowsOf<{ at: number }>(db, 'select extract(epoch from min(slot))::float8 as at from traffic');
    expect(week.countedFrom).toBe(first?.at);
  });
});

describe('the usage by days of a zone', () => {
  it('is that of every entry, however many of them were added up before', async () => {
    await expectExactUsage();
    await run(db, 'delete from usage_half_hour');
    await run(db, 'update traffic_mark set through_entry_id = 0');
    await expectExactUsage();
    await foldTraffic(db, 86_400);
    await expectExactUsage();
  });
});
