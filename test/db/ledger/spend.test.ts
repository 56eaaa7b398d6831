import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Database } from '../../../src/db/database.ts';
import { foldUsage, sumSpend, type Spend, type SpendRange } from '../../../src/db/ledger/spend.ts';
import { listOpenDays, rebuildDay } from '../../../src/db/ledger/summaries.ts';
import { chatEndReasons } from '../../../src/domain/chat/chat-end-reason.ts';
import { refusalReasons } from './refusal-reasons.ts';
import type { SpendGroup } from '../../../src/domain/ledger/usage-group.ts';
import { taskErrorTable } from '../../../src/domain/tasks/task.ts';
import { awayFromMidnight } from '../../support/away-from-midnight.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { openBook, rowsOf, run, type Book } from '../books.ts';

await awayFromMidnight();

let scratch: TestDatabase;
let db: Database;
let book: Book;
let other: Book;
const daySeconds = 86_400;
const today = Math.floor(Date.now() / 1_000 / daySeconds) * daySeconds;
const days = 6;

beforeAll(async () => {
  scratch = await createTestDatabase();
  db = await scratch.open();
  book = await openBook(db, { credits: 1_000_000 });
  other = await openBook(db, { credits: 1_000_000 });
  await run(db, `insert into model (id, position, entry, private) values ('model-b', 1, '{"type": "video"}', '{}')`);
  await run(
    db,
    `insert into channel (id, name, adapter, base_url, credential, groups) values ('chn_1', 'first', 'openai', 'http://127.0.0.1:1', 'sealed', '{}')`,
  );
});
afterAll(() => scratch.drop());

/**
 * Entries of the last six days, two or more in each half hour. Every fifth is a refund, every other one of these a refusal, every seventh is
 * given back. Requests that took more than one call, and every refund, have their costs in their attempts. Requests take up to fifty minutes.
 */
async function writeEntries(from: number, to: number): Promise<void> {
  const at = `to_timestamp(${today + daySeconds}) - interval '${days} days' + (n * 971) * interval '1 second'`;
  const who = `case when n % 3 = 0 then '${other.projectId}' else '${book.projectId}' end, case when n % 3 = 0 then '${other.keyId}' else '${book.keyId}' end,
    'model-' || (array['a', 'b'])[1 + n % 2], 'req_' || n`;
  const began = `${at} - n % 50 * interval '1 minute'`;
  const numbers = `from generate_series(${from}, ${to}) n where ${at} < now()`;
  const values = `case when n % 5 = 0 then 'refund' else 'settle' end, case when n % 5 = 0 then 0 else -n end, 0, n,
     case when n % 11 = 0 then 'client_left' when n % 10 = 0 then 'request_refused' when n % 5 = 0 then 'upstream_failed' end,
     case when n % 5 <> 0 then 'chn_' || n % 3 end, case when n % 4 = 1 and n % 5 <> 0 then 10 * n end, 7 * n, 3 * n`;
  await run(
    db,
    `insert into ledger_entry (project_id, key_id, model_id, request_id, kind, credits, balance_after, held, reason, channel_id, cost_micro_usd,
                               input_tokens, output_tokens, began_at, created_at)
     select * from (
       select ${who}, ${values}, ${began}, ${at} ${numbers}
       union all
       select ${who}, 'adjust', 1, 0, null, 'sorry', null, null, null, null, ${began}, ${at} ${numbers} and n % 7 = 0
     ) entry (project, key, model, request, kind, credits, balance, held, reason, channel, cost, input, output, began, at) order by at`,
  );
  await run(
    db,
    `insert into attempt (id, request_id, n, channel_id, channel_name, fence, submit_deadline, outcome, started_at, ended_at, cost_micro_usd)
     select 'att_' || n || '_' || call, 'req_' || n, call, 'chn_' || call, 'channel', 'fence', now(), case call when 1 then 'unknown' else 'transient' end,
       ${began}, ${at}, case when n % 6 = 0 then 0 else n end from generate_series(${from}, ${to}) n, generate_series(1, 2) call
     where ${at} < now() and (n % 4 <> 1 or n % 5 = 0)`,
  );
}

const sumNames = [
  'requests',
  'succeeded',
  'failed',
  'refused',
  'left',
  'leftCharged',
  'credits',
  'costMicroUsd',
  'unknownCosts',
  'inputTokens',
] as const;
type Sums = Pick<Spend, (typeof sumNames)[number]>;

/** The same sums, by the entries and the attempts themselves. */
async function counted(
  groups: readonly SpendGroup[],
  { from, to, timeZone }: SpendRange,
): Promise<Record<string, Sums>> {
  const rows = await rowsOf<Sums & Record<string, unknown>>(
    db,
    `with fact as (
       select created_at as at, project_id, key_id, model_id, coalesce(channel_id, case when kind = 'refund' then 'chn_2' end) as channel_id,
         kind, reason, -credits as credits, 0::bigint as cost, 0 as unknown, case when kind = 'settle' then input_tokens else 0 end as input_tokens
       from ledger_entry where kind in ('settle', 'refund', 'adjust')
       union all
       select began_at, project_id, key_id, model_id, channel_id, 'cost', null, 0, cost_micro_usd, 0, 0 from ledger_entry where cost_micro_usd > 0
       union all
       select a.started_at, e.project_id, e.key_id, e.model_id, a.channel_id, 'cost', null, 0, a.cost_micro_usd, (a.cost_micro_usd = 0)::int, 0
       from attempt a join ledger_entry e using (request_id) where a.outcome = 'unknown' and e.kind in ('settle', 'refund')
     )
     select to_char(at at time zone $3, 'YYYY-MM-DD') as day, to_char(at at time zone $3, 'YYYY-MM-DD"T"HH24:00') as hour, model_id as model,
       project_id as project, key_id as key, channel_id as channel, case model_id when 'model-b' then 'video' end as type,
       (kind in ('settle', 'refund'))::int as requests, (kind = 'settle')::int as succeeded,
       (kind = 'refund' and reason <> 'request_refused')::int as failed, (kind = 'refund' and reason = 'request_refused')::int as refused,
       (kind in ('settle', 'refund') and reason = 'client_left')::int as "left", (kind = 'settle' and reason = 'client_left')::int as left_charged,
       credits, cost as cost_micro_usd, unknown as unknown_costs, input_tokens
     from fact where at >= to_timestamp($1) and at < to_timestamp($2)`,
    [from, to, timeZone],
  );
  const found = Map.groupBy(rows, (row) => groups.map((group) => String(row[group])).join(' '));
  return Object.fromEntries([...found].map(([name, those]) => [name, added(those)]));
}

const added = (rows: readonly Sums[]): Sums => {
  const total = Object.fromEntries(sumNames.map((name) => [name, 0])) as Sums;
  for (const row of rows) for (const name of sumNames) total[name] += row[name];
  return total;
};

const nameOf: Record<SpendGroup, keyof Spend> = {
  day: 'day',
  hour: 'hour',
  model: 'model',
  project: 'projectId',
  key: 'keyId',
  channel: 'channelId',
  type: 'type',
};

const range = (over: Partial<SpendRange> = {}): SpendRange => ({
  from: today - (days - 1) * daySeconds,
  to: Math.ceil(Date.now() / 1_000) + 60,
  timeZone: 'UTC',
  groups: ['day'],
  measure: 'credits',
  ...over,
});

/** Compares what operators are shown by each group and zone with the rows. */
async function expectExact(): Promise<void> {
  const cases: [SpendGroup[], string][] = [
    [['day'], 'UTC'],
    [['day', 'project', 'channel'], 'UTC'],
    [['model', 'key', 'type'], 'UTC'],
    [['hour'], 'UTC'],
    [['day', 'channel'], 'Asia/Kolkata'],
    [['hour', 'model'], 'America/St_Johns'],
    [['day'], 'Asia/Kathmandu'],
    [['day', 'model'], 'America/Los_Angeles'],
    [['day', 'project'], 'Pacific/Kiritimati'],
    [['day', 'type'], 'Asia/Kolkata'],
    [['day', 'key', 'type'], 'Europe/Berlin'],
    [['key'], 'Europe/Berlin'],
  ];
  for (const [groups, timeZone] of cases) {
    const [total, ...rows] = await sumSpend(db, range({ groups, timeZone }), 10_000);
    const shown = rows.map((row): [string, Sums] => [
      groups.map((group) => String(row[nameOf[group]])).join(' '),
      added([row]),
    ]);
    const expected = await counted(groups, range({ timeZone }));
    expect({ groups, timeZone, ...Object.fromEntries(shown) }).toEqual({ groups, timeZone, ...expected });
    expect(added(total ? [total] : [])).toEqual(added(Object.values(expected)));
  }
}

const closing = { creditValueMicroUsd: 1, lagSeconds: 0, freezeAfterDays: 2 };
const closeDays = async (): Promise<void> => {
  for (const day of await listOpenDays(db)) await rebuildDay(db, { ...closing, day });
};

describe('the usage of all projects', () => {
  it('is nothing in an empty ledger', async () => {
    await foldUsage(db, 0);
    const rows = await sumSpend(db, range(), 10);
    expect(rows).toEqual([expect.objectContaining({ isTotal: true, requests: 0, credits: 0, costMicroUsd: 0 })]);
  });

  it('is that of every entry and call, however many were added up before and whichever days are closed', async () => {
    await writeEntries(1, 400);
    await expectExact();
    // The newest entries stay for a later call.
    await foldUsage(db, 3_600);
    await expectExact();
    await writeEntries(401, 600);
    await foldUsage(db, 0);
    await expectExact();
    await closeDays();
    expect(await rowsOf(db, 'select from summary_day where frozen_at is not null')).not.toEqual([]);
    await expectExact();
  });

  it("reads a closed day from its summary in every zone, and moves its half hours of the zone's other day", async () => {
    const ofDays = (timeZone: string): Promise<Spend[]> => sumSpend(db, range({ groups: ['day'], timeZone }), 100);
    const addToClosed = (credits: number): Promise<unknown> =>
      run(
        db,
        `update daily_summary set credits_charged = credits_charged + ${credits} where day = to_timestamp(${today - 4 * daySeconds})::date`,
      );
    for (const timeZone of ['Europe/Berlin', 'Asia/Kathmandu', 'Pacific/Kiritimati', 'Pacific/Niue']) {
      const before = await ofDays(timeZone);
      await addToClosed(1_000);
      const after = await ofDays(timeZone);
      await addToClosed(-1_000);
      const changed = after.filter((row, index) => row.credits !== before[index]?.credits);
      expect({ timeZone, changed: changed.length }).toEqual({ timeZone, changed: 2 });
    }
  });

  it('reads a closed day from its summary alone, and today from its rows', async () => {
    const before = await sumSpend(db, range(), 100);
    await run(db, `delete from usage_slot where slot < to_timestamp(${today - 2 * daySeconds})`);
    expect(await sumSpend(db, range(), 100)).toEqual(before);
    await run(
      db,
      `update daily_summary set credits_charged = credits_charged + 1 where day < to_timestamp(${today - 3 * daySeconds})::date`,
    );
    expect(await sumSpend(db, range(), 100)).not.toEqual(before);
  });

  it('counts each entry once if processes add them up at the same time, also where summaries are gone', async () => {
    for (const table of ['usage_slot', 'daily_summary', 'summary_day']) await run(db, `delete from ${table}`);
    await run(db, 'update usage_mark set through_entry_id = null');
    await Promise.all(Array.from({ length: 4 }, () => foldUsage(db, 0)));
    await expectExact();
  });

  it('counts the requests of a cut half hour that ended within the range', async () => {
    const cut = range({ from: today - 2 * daySeconds + 1_234, to: today - 1_000 });
    const [total] = await sumSpend(db, cut, 10);
    const { '': expected } = await counted([], cut);
    expect(total).toMatchObject({
      requests: expected?.requests,
      refused: expected?.refused,
      credits: expected?.credits,
    });
  });

  it('is of one project or key where it is asked for', async () => {
    const both = await counted(['project'], range());
    for (const { projectId, keyId } of [book, other]) {
      const [ofProject] = await sumSpend(db, range({ projectId }), 10);
      const [ofKey] = await sumSpend(db, range({ projectId, keyId }), 10);
      expect(added(ofProject ? [ofProject] : [])).toEqual(both[projectId]);
      expect(added(ofKey ? [ofKey] : [])).toEqual(both[projectId]);
    }
  });

  it('shows the largest groups apart and all others as one', async () => {
    const [total, ...rows] = await sumSpend(db, range({ groups: ['channel'], top: 1, measure: 'cost' }), 10);
    const [largest, rest] = rows;
    expect(rows).toHaveLength(2);
    expect(largest).toMatchObject({ channelId: 'chn_1', channel: 'first', isRest: false });
    expect(rest).toMatchObject({ channelId: null, isRest: true });
    expect(added(rows)).toEqual(added(total ? [total] : []));
  });
});

describe('the usage of days on which clocks change', () => {
  it('is that of every entry in each zone, of closed days and of days without a request', async () => {
    const former = await createTestDatabase();
    const old = await former.open();
    const { projectId, keyId } = await openBook(old);
    // Days around the changes of the clocks, each with one request in each quarter of an hour, except for one day.
    const changes = ['2024-03-31', '2024-04-07', '2024-04-26', '2024-09-08', '2024-10-27', '2024-11-01'];
    await run(
      old,
      `insert into ledger_entry (project_id, key_id, model_id, request_id, kind, credits, balance_after, held, began_at, created_at)
       select $1, $2, 'model-' || n % 3, 'req_' || change || n, 'settle', -n, 0, n, at, at
       from unnest($3::text[]) change, generate_series(1, 384) n, lateral (select (change || ' UTC')::timestamptz + (n - 193) * interval '15 minutes' as at) times
       where n not between 289 and 384 or change <> '2024-10-27' order by at`,
      [projectId, keyId, changes],
    );
    for (const change of changes) {
      const [from, to] = [-2, 2].map((n) => Date.parse(change) / 1_000 + n * daySeconds) as [number, number];
      for (let at = from; at < to; at += daySeconds)
        await rebuildDay(old, { ...closing, day: new Date(at * 1_000).toISOString().slice(0, 10) });
      for (const timeZone of [
        'Europe/Berlin',
        'Australia/Lord_Howe',
        'Africa/Cairo',
        'America/Santiago',
        'Asia/Kathmandu',
      ]) {
        const input = range({ from, to, timeZone, groups: ['day', 'model'] });
        const [, ...rows] = await sumSpend(old, input, 10_000);
        const shown = rows.map((row): [string, number] => [`${row.day} ${row.model}`, row.credits]);
        const entries = await rowsOf<{ name: string; credits: number }>(
          old,
          `select to_char(created_at at time zone $3, 'YYYY-MM-DD') || ' ' || model_id as name, sum(-credits)::bigint as credits
           from ledger_entry where created_at >= to_timestamp($1) and created_at < to_timestamp($2) group by 1`,
          [from, to, timeZone],
        );
        const expected = entries.map(({ name, credits }): [string, number] => [name, credits]);
        expect({ change, timeZone, ...Object.fromEntries(shown) }).toEqual({
          change,
          timeZone,
          ...Object.fromEntries(expected),
        });
      }
    }
    expect(await rowsOf(old, 'select from summary_day where frozen_at is not null')).toHaveLength(4 * changes.length);
    await former.drop();
  });
});

describe('a refusal', () => {
  it('has the same reasons in the database as in the code', async () => {
    const reasons = [...chatEndReasons, ...Object.keys(taskErrorTable)];
    const rows = await rowsOf<{ reason: string }>(
      db,
      'select reason from unnest($1::text[]) as reason where is_refusal(reason)',
      [reasons],
    );
    expect(new Set(rows.map(({ reason }) => reason))).toEqual(new Set(refusalReasons));
  });
});
