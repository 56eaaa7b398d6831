import { afterAll, beforeAll, beforeEach, afterEach, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { adjustCredits } from '../../../src/services/ledger/adjust-credits.ts';
import { runMaintenance } from '../../../src/services/scheduled-jobs/maintenance.ts';
import type { Database } from '../../../src/db/database.ts';
import { sumUsage } from '../../../src/db/ledger/usage.ts';
import { verifyLedger } from '../../../src/db/ledger/verify-ledger.ts';
import { usageGroups, type UsageGroup } from '../../../src/domain/ledger/usage-group.ts';
import {
  admitted,
  attemptEndedOk,
  newTask,
  openBook,
  openLedger,
  rowsOf,
  run,
  taskEnd,
  type Book,
} from '../../db/books.ts';
import { anAdmission, openChatLedger, settledEnd } from '../../db/chat-books.ts';
import { awayFromMidnight } from '../../support/away-from-midnight.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { compileCache, nodeBinary, projectFolder } from '../../support/program.ts';
import { monthsAgo, moveEntries, moveRequest, openUpkeep, type Upkeep } from './upkeep.ts';
import { spec } from '../../spec/spec.ts';

await awayFromMidnight({ secondsInto: 200 });

const older = monthsAgo(3);
const newer = monthsAgo(2);
const current = monthsAgo(0);

/** Data of two past months and the current one, before any maintenance. */
let template: TestDatabase;
let book: Book;
let copy: TestDatabase;
let db: Database;
let upkeep: Upkeep;
const withAccounting = (changes: Partial<Upkeep['config']['accounting']>): Upkeep['config'] => ({
  ...upkeep.config,
  accounting: { ...upkeep.config.accounting, ...changes },
});

beforeAll(async () => {
  template = await createTestDatabase();
  const database = await template.open();
  const ledger = openLedger(database);
  const chats = openChatLedger(database);
  book = await openBook(database, { credits: 1_000 });
  const settled = async (taskId: string, cost: number): Promise<void> => {
    await admitted(ledger, newTask(book, 10, { taskId }));
    await attemptEndedOk(database, taskId);
    await run(database, 'update attempt set cost_micro_usd = $2 where request_id = $1', [taskId, cost]);
    await ledger.finishTask(taskEnd(taskId, 'succeeded'));
  };
  await settled('task_last', 400);
  await settled('task_first', 500);
  await settled('task_now', 600);

  await admitted(ledger, newTask(book, 10, { taskId: 'task_failed' }));
  for (const [n, outcome] of [
    [1, 'transient'],
    [2, 'unknown'],
  ] as const) {
    await run(
      database,
      `insert into attempt (id, request_id, n, channel_id, channel_name, fence, submit_deadline, outcome, ended_at, cost_micro_usd)
       values ('att_failed_' || $1, 'task_failed', $1::int, 'chn_' || $1, 'channel', 'fence', clock_timestamp(), $2, clock_timestamp(), 300)`,
      [n, outcome],
    );
  }
  await ledger.finishTask(taskEnd('task_failed', 'failed'));

  const chat = anAdmission(book, { requestId: 'req_chat', credits: 9 });
  await chats.admit(chat);
  await chats.end({ ...settledEnd(chat, 4), inputTokens: 120, outputTokens: 34, costMicroUsd: 77 });
  await adjustCredits({ db: database }, { requestId: 'task_last', amount: 3, reason: 'late', actor: 'test' });

  await moveEntries(database, `kind = 'topup'`, older.first);
  await moveRequest(database, 'task_last', older.last);
  await moveRequest(database, 'task_first', newer.first);
  await moveRequest(database, 'task_failed', newer.first);
  await moveRequest(database, 'req_chat', newer.first);
  await moveEntries(database, `kind = 'adjust'`, newer.first);
  expect(await verifyLedger(database, 60)).toMatchObject({ ok: true });
});
afterAll(() => template.drop());

beforeEach(async () => {
  copy = await createTestDatabase({ template });
  db = await copy.open();
  upkeep = await openUpkeep(db, { CREDIT_VALUE_MICRO_USD: '1000' });
});
afterEach(async () => {
  upkeep.removeFolder();
  await copy.drop();
});

const summaryRows = (): Promise<Record<string, unknown>[]> =>
  rowsOf(
    db,
    'select s.*, m.frozen_at is not null as frozen from monthly_summary s join summary_month m using (month) order by month, project_id, model_id, channel_id',
  );

const row = (month: string, channel: string, over: Record<string, unknown>) => ({
  month,
  projectId: book.projectId,
  modelId: 'model-a',
  channelId: channel,
  requests: 0,
  successes: 0,
  failures: 0,
  creditsCharged: 0,
  costMicroUsd: 0,
  marginMicroUsd: 0,
  inputTokens: 0,
  outputTokens: 0,
  ...over,
});

describe('the monthly summary', () => {
  it('counts each request in the UTC month of its end, its credits on the winning channel, and each cost on its own channel', async () => {
    await runMaintenance(upkeep);
    const rows = await summaryRows();
    const of = (month: string) => rows.filter((line) => line['month'] === month);
    expect(of(older.month)).toMatchObject([
      row(older.month, 'chn_won', {
        requests: 1,
        successes: 1,
        creditsCharged: 10,
        costMicroUsd: 400,
        marginMicroUsd: 9_600,
        frozen: true,
      }),
    ]);
    expect(of(newer.month)).toMatchObject([
      row(newer.month, 'chn_2', { requests: 1, failures: 1, costMicroUsd: 300, marginMicroUsd: -300 }),
      row(newer.month, 'chn_a', {
        requests: 1,
        successes: 1,
        creditsCharged: 4,
        costMicroUsd: 77,
        marginMicroUsd: 3_923,
        inputTokens: 120,
        outputTokens: 34,
      }),
      // Ten for the task of this month, minus the three given back for the task of the last month.
      row(newer.month, 'chn_won', {
        requests: 1,
        successes: 1,
        creditsCharged: 7,
        costMicroUsd: 500,
        marginMicroUsd: 6_500,
      }),
    ]);
    expect(of(current.month)).toMatchObject([
      { channelId: 'chn_won', successes: 1, creditsCharged: 10, costMicroUsd: 600, frozen: false },
    ]);
    expect(await verifyLedger(db, 60)).toMatchObject({ ok: true, invariants: { C7: { breaches: 0 } } });
  });

  it('of a month fails without stopping later months and other steps', async () => {
    await run(
      db,
      `create function refuse() returns trigger language plpgsql as $$ begin raise 'odd'; end $$;
       create trigger refuse before insert on summary_month for each row when (new.month = '${older.month}') execute function refuse();`,
    );
    await run(
      db,
      `insert into job_run (id, name, trigger, state, lease_until, ended_at)
       values ('run_old', 'check-api-channels', 'loop', 'succeeded', clock_timestamp(), clock_timestamp() - interval '31 days')`,
    );
    const failure: unknown = await runMaintenance(upkeep).catch((error: unknown) => error);
    expect(failure).toMatchObject({ summary: { failed_steps: ['summaries'], job_runs_deleted: 1 } });
    const built = await rowsOf(db, 'select month from summary_month order by month');
    expect(built.map(({ month }) => month as string)).toEqual(expect.arrayContaining([newer.month, current.month]));
    expect(built).not.toContainEqual({ month: older.month });
  });

  it('is the same if it is built twice, and is never built again once frozen', async () => {
    spec('4.8 scheduled-maintenance');
    const first = await runMaintenance(upkeep);
    expect(first.months.filter(({ month }) => month <= newer.month)).toEqual([
      { month: older.month, state: 'frozen' },
      { month: newer.month, state: 'frozen' },
    ]);
    const before = await summaryRows();
    const second = await runMaintenance(upkeep);
    expect(second.months.at(-1)).toEqual({ month: current.month, state: 'rebuilt' });
    expect(second.months.map(({ month }) => month)).not.toContain(newer.month);
    expect(await summaryRows()).toEqual(before);

    // A later change of the credit value changes the margin of the open month, but of no frozen one.
    await runMaintenance({ ...upkeep, config: withAccounting({ creditValueMicroUsd: 5 }) });
    const after = await summaryRows();
    expect(after.filter((line) => line['frozen'])).toEqual(before.filter((line) => line['frozen']));
    expect(after).not.toEqual(before);
    expect(await verifyLedger(db, 60)).toMatchObject({ ok: true });
  });

  it('counts the cost of an open day up to the same moment as its revenue, and the whole cost of a frozen day', async () => {
    const ledger = openLedger(db);
    const begun = async (taskId: string, cost: number): Promise<void> => {
      await admitted(ledger, newTask(book, 10, { taskId }));
      await attemptEndedOk(db, taskId);
      await run(db, `update attempt set cost_micro_usd = $2, operation = '{}' where request_id = $1`, [taskId, cost]);
    };
    // One task began minutes ago and has just ended, the other has not ended.
    await begun('task_new', 50);
    await ledger.finishTask(taskEnd('task_new', 'succeeded'));
    await begun('task_running', 7);
    const minutesAgo = new Date(Date.now() - 180_000).toISOString();
    await run(db, `update attempt set started_at = $1 where request_id in ('task_new', 'task_running')`, [minutesAgo]);
    await begun('task_stuck', 3);
    await run(db, `update attempt set started_at = $1 where request_id = 'task_stuck'`, [newer.first]);

    const built = async (lagSeconds: number): Promise<unknown> => {
      await runMaintenance({ ...upkeep, config: withAccounting({ lagSeconds }) });
      const [sums] = await rowsOf(
        db,
        'select sum(credits_charged)::int as credits, sum(cost_micro_usd)::int as cost from monthly_summary where month = $1',
        [current.month],
      );
      return sums;
    };
    await moveRequest(db, 'task_now', minutesAgo);
    await moveEntries(db, `request_id = 'task_now'`, new Date(Date.now() - 120_000).toISOString());
    expect(await built(60)).toEqual({ credits: 10, cost: 600 });
    expect(await built(0)).toEqual({ credits: 20, cost: 650 });
    const frozen = await rowsOf(
      db,
      `select cost_micro_usd as cost from monthly_summary where month = $1 and channel_id = 'chn_won'`,
      [newer.month],
    );
    expect(frozen).toEqual([{ cost: 503 }]);
  });

  it.each<[string, { groups: readonly UsageGroup[]; cutSeconds?: number; ofKey?: boolean; timeZone?: string }]>([
    ['of every day, model and key', { groups: usageGroups }],
    ['of a range that begins and ends within days', { groups: usageGroups, cutSeconds: 43_200 }],
    ['of one key', { groups: ['day'], ofKey: true }],
    ['without days, in another time zone', { groups: ['model'], timeZone: 'Asia/Kolkata' }],
    ['by the days of another time zone', { groups: ['day'], timeZone: 'Asia/Kolkata' }],
  ])(
    'gives the usage %s to the credit as the ledger does',
    async (_what, { groups, cutSeconds = 0, ofKey = false, timeZone = 'UTC' }) => {
      const usage = () =>
        sumUsage(
          db,
          {
            projectId: book.projectId,
            keyId: ofKey ? book.keyId : undefined,
            from: Date.parse(older.first) / 1_000 + cutSeconds,
            to: Math.ceil(Date.now() / 1_000) + 1,
            timeZone,
            groups,
          },
          100,
        );
      const byTheLedger = await usage();
      expect(byTheLedger.find(({ isTotal }) => isTotal)).toMatchObject({ credits: 31, failed: 1 });
      await runMaintenance(upkeep);
      expect(await usage()).toEqual(byTheLedger);
    },
  );

  it('adds later entries to the open month', async () => {
    await runMaintenance(upkeep);
    await adjustCredits({ db }, { requestId: 'task_now', amount: 2, reason: 'late', actor: 'test' });
    expect(await verifyLedger(db, 60)).toMatchObject({ ok: true });
    await runMaintenance(upkeep);
    expect((await summaryRows()).at(-1)).toMatchObject({ month: current.month, creditsCharged: 8 });
    expect(await verifyLedger(db, 60)).toMatchObject({ ok: true });
  });

  it.each([
    [
      'a changed charge',
      ['update monthly_summary set credits_charged = credits_charged + 1, margin_micro_usd = margin_micro_usd + 1000'],
    ],
    ['one request too many', ['update monthly_summary set requests = requests + 1']],
    ['one failure too many', ['update monthly_summary set failures = failures + 1, requests = requests + 1']],
    ['changed tokens', ['update monthly_summary set input_tokens = input_tokens + 1']],
    ['a wrong margin', ['update monthly_summary set margin_micro_usd = 0']],
    [
      'a changed cost',
      ['update monthly_summary set cost_micro_usd = cost_micro_usd + 1, margin_micro_usd = margin_micro_usd - 1'],
    ],
    ['deleted rows', ['delete from monthly_summary']],
    ['a changed charge of a day', ['update daily_summary set credits_charged = credits_charged + 1']],
    ['a failure too many on a day', ['update daily_summary set failures = failures + 1']],
    ['a charge of another key', [`update daily_summary set key_id = 'key_other'`]],
    ['deleted days', ['delete from daily_summary', 'delete from summary_day where day < current_date']],
    [
      'a row without ledger entries',
      [
        `insert into monthly_summary
         select month, 'prj_ghost', model_id, channel_id, 1, 1, 0, 5, 0, 5000, 0, 0 from monthly_summary limit 1`,
      ],
    ],
    [
      'a deleted month',
      [
        `delete from monthly_summary where month = '${older.month}'`,
        `delete from summary_month where month = '${older.month}'`,
      ],
    ],
  ])('is compared with the ledger by C7, which finds %s', async (_what, changes) => {
    await runMaintenance(upkeep);
    for (const change of changes) await run(db, change);
    const report = await verifyLedger(db, 60);
    expect(report.ok).toBe(false);
    expect(report.invariants['C7']?.breaches).toBeGreaterThan(0);
    expect(report.invariants['C7']?.examples.length).toBeGreaterThan(0);
  });

  it('is shown by `tollgate summary` and checked by `tollgate ledger verify`', async () => {
    await runMaintenance(upkeep);
    const summary = await tollgate(['summary', '--month', newer.month, '--json']);
    expect(JSON.parse(summary.stdout)).toMatchObject({
      month: newer.month,
      data: expect.arrayContaining([expect.objectContaining({ requests: 1, successes: 1 })]),
      totals: {
        requests: 3,
        successes: 2,
        failures: 1,
        credits_charged: 11,
        cost_micro_usd: 877,
        margin_micro_usd: 10_123,
      },
    });
    const text = (await tollgate(['summary', '--month', newer.month])).stdout;
    expect(text).toMatch(/total .* 3 +2 +1 +11 +0\.000877 +0\.010123 .*\$0\.011/);
    expect(text).toContain('Frozen');
    expect((await tollgate(['summary', '--month', '1999-01'])).code).toBe(1);
    expect((await tollgate(['summary', '--month', '2030-13'])).code).toBe(2);

    expect((await tollgate(['ledger', 'verify'])).stdout).toContain('The books balance since the checkpoint of');
    expect((await tollgate(['ledger', 'verify', '--full'])).stdout).toContain('The books balance.');
  });
});

describe('the checkpoint', () => {
  const since = () => verifyLedger(db, 60, { full: false });

  it('is written after the ledger is verified, and the next verification starts there', async () => {
    expect((await since()).since).toBeNull();
    const { checkpoint_id: id } = await runMaintenance(upkeep);
    expect(id).not.toBeNull();
    expect(await since()).toMatchObject({ ok: true, since: { checkpoint_id: id } });
    expect(await runMaintenance(upkeep)).toMatchObject({ checkpoint_id: null, ledger_breaches: [] });
  });

  it('gives together with the later entries the same result as all entries', async () => {
    await runMaintenance(upkeep);
    const ledger = openLedger(db);
    await admitted(ledger, newTask(book, 20, { taskId: 'task_after' }));
    await attemptEndedOk(db, 'task_after');
    expect(await since()).toMatchObject({ ok: true });
    await ledger.finishTask(taskEnd('task_after', 'succeeded'));
    await adjustCredits({ db }, { requestId: 'task_first', amount: 1, reason: 'late', actor: 'test' });
    expect(await since()).toMatchObject({ ok: true });
    const second = await runMaintenance(upkeep);
    expect(second.checkpoint_id).not.toBeNull();
    expect(await since()).toMatchObject({ ok: true });
    expect(await verifyLedger(db, 60)).toMatchObject({ ok: true });
  });

  it.each([
    ['C1', 'update credit_account set balance = balance + 1'],
    ['C2', 'update api_key set spent = spent + 1'],
    ['C2', 'update api_key set day_spent = day_spent + 1'],
    ['C2', 'update api_key set month_spent = month_spent + 1'],
    [
      'C3',
      `insert into ledger_entry (project_id, kind, credits, balance_after)
       select project_id, 'adjust', v, 0 from credit_account, (values (-5000), (5000)) as two (v) order by v`,
    ],
    [
      'C4',
      `insert into hold (id, project_id, key_id, kind, model_id, amount, expires_at)
       select id, project_id, key_id, 'media', model_id, 10, clock_timestamp() + interval '1 hour'
       from reservation where id = 'task_failed'`,
    ],
    ['C6', `update task set credits_charged = 9, completed_at = clock_timestamp() where id = 'task_now'`],
  ])('does not hide a later breach of %s, and no new one is written after the breach', async (invariant, change) => {
    await runMaintenance(upkeep);
    await run(db, change);
    const report = await since();
    expect(report.invariants[invariant]?.breaches).toBeGreaterThan(0);
    const next = await runMaintenance(upkeep);
    expect(next.ledger_breaches).toContain(invariant);
    expect(next.checkpoint_id).toBeNull();
  });

  it('is written although a charge is too low, and only `--full` reports that charge again', async () => {
    await run(db, 'alter table ledger_entry disable trigger ledger_entry_append_only');
    await run(db, `update ledger_entry set delivered_tokens = 1 where request_id = 'task_failed'`);
    const { ledger_breaches: breaches, checkpoint_id: id } = await runMaintenance(upkeep);
    expect(breaches).toEqual(['C10']);
    expect(id).not.toBeNull();
    expect(await since()).toMatchObject({ ok: true });
    expect(await verifyLedger(db, 60)).toMatchObject({
      invariants: { C10: { breaches: 1, examples: ['task_failed'] } },
    });
  });

  it('makes verification trust the entries before it, except with `--full`', async () => {
    await runMaintenance(upkeep);
    await run(db, 'alter table ledger_entry disable trigger ledger_entry_append_only');
    await run(db, `update ledger_entry set credits = credits + 5 where kind = 'topup'`);
    expect(await since()).toMatchObject({ ok: true });
    expect(await verifyLedger(db, 60)).toMatchObject({ ok: false });
  });
});

interface Output {
  code: number;
  stdout: string;
}

async function tollgate(args: string[]): Promise<Output> {
  const env = { ...compileCache(), DATABASE_URL: copy.url, TOLLGATE_HOME: '/nonexistent' };
  const options = { env, timeout: 120_000 };
  return promisify(execFile)(nodeBinary, [join(projectFolder, 'src/main/cli.ts'), ...args], options).then(
    ({ stdout }) => ({ code: 0, stdout }),
    (error: { code?: number; stdout?: string }) => ({ code: error.code ?? -1, stdout: error.stdout ?? '' }),
  );
}
