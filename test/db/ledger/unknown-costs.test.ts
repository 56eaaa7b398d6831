import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  expireChats,
  firstAttemptId,
  type AttemptEnding,
  type ChatAdmissionRequest,
  type ChatLedger,
} from '../../../src/db/chat/chat-ledger.ts';
import type { Database } from '../../../src/db/database.ts';
import { foldUsage, sumSpend } from '../../../src/db/ledger/spend.ts';
import { listOpenDays, readSummary, rebuildDay } from '../../../src/db/ledger/summaries.ts';
import { foldTraffic, readTrafficParts } from '../../../src/db/operators/overview.ts';
import { readRangeTraffic } from '../../../src/db/operators/traffic-range.ts';
import { listRequests } from '../../../src/db/requests/sorted-requests.ts';
import { listAttemptDetails } from '../../../src/db/tasks/attempt-details.ts';
import { toSubmit } from '../../../src/adapters/upstream/classify-outcome.ts';
import type { ErrorClass } from '../../../src/domain/channels/upstream.ts';
import type { TaskEnd } from '../../../src/db/ledger/ledger.ts';
import { awayFromMidnight } from '../../support/away-from-midnight.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import {
  admitted,
  breachesIn,
  newId,
  newTask,
  openBook,
  openLedger,
  rowsOf,
  run,
  taskEnd,
  type Book,
} from '../books.ts';
import { anAdmission, openChatLedger, refundFacts, settledEnd } from '../chat-books.ts';

await awayFromMidnight({ secondsInto: 120 });

let scratch: TestDatabase;
let db: Database;
let book: Book;
let chats: ChatLedger;

/** What an operator is told of a request. */
interface Sums {
  costMicroUsd: number;
  unknownCosts: number;
  left?: number;
  leftCharged?: number;
}

interface Case {
  it: string;
  sums: Sums;
  /** Makes one request, of the model of this name, and returns its id. */
  make: (modelId: string) => Promise<string>;
}

const call = (attemptId: string, outcome: AttemptEnding['outcome']): AttemptEnding => ({
  attemptId,
  outcome,
  errorClass: null,
  status: null,
  detail: null,
});

const chat =
  (end: (admission: ChatAdmissionRequest, first: string) => Promise<unknown>): Case['make'] =>
  async (modelId) => {
    const admission = anAdmission(book, { modelId, credits: 9 });
    await chats.admit(admission);
    await end(admission, firstAttemptId(admission.requestId));
    return admission.requestId;
  };

const task =
  (status: TaskEnd['status'], attempt: { outcome: string | null; operation?: object } | null): Case['make'] =>
  async (modelId) => {
    const ledger = openLedger(db);
    const { taskId } = await admitted(ledger, newTask(book, 10, { modelId }));
    if (attempt)
      await run(
        db,
        `insert into attempt (id, request_id, n, channel_id, channel_name, fence, submit_deadline, outcome, operation, ended_at, cost_micro_usd, outputs)
         values ($1, $2, 1, 'chn_a', 'channel-a', 'fence', clock_timestamp(), $3, $4::jsonb, case when $3::text is not null then clock_timestamp() end, 300,
           case when $3 = 'ok' then '[]'::jsonb end)`,
        [newId('att'), taskId, attempt.outcome, attempt.operation ? JSON.stringify(attempt.operation) : null],
      );
    await ledger.finishTask(taskEnd(taskId, status));
    return taskId;
  };

/** Ends the first call of a chat and begins a second one, which answers. */
const answeredBySecond = (outcome: AttemptEnding['outcome']): Case['make'] =>
  chat(async (admission, first) => {
    const { requestId } = admission;
    const second = newId('att');
    const next = { attemptId: second, n: 2, channelId: 'chn_b', channelName: 'channel-b' };
    await chats.nextAttempt({ requestId, ended: call(first, outcome), ...next });
    const end = { ...settledEnd(admission, 4), channelId: 'chn_b', costMicroUsd: 70, attempt: call(second, 'ok') };
    await chats.end(end);
  });

const only = (costMicroUsd: number): Sums => ({ costMicroUsd, unknownCosts: 0 });

const cases: readonly Case[] = [
  {
    it: 'a chat that its first call answered',
    sums: only(77),
    make: chat((admission) => chats.end({ ...settledEnd(admission, 4), costMicroUsd: 77 })),
  },
  {
    it: 'a chat of a model that costs nothing',
    sums: only(0),
    make: chat((admission) => chats.end(settledEnd(admission, 4))),
  },
  {
    it: 'a chat that no provider took',
    sums: only(0),
    make: chat((admission) => chats.refund('upstream_unreachable', refundFacts(admission))),
  },
  {
    it: 'a chat that the provider may have billed before it broke off',
    sums: { costMicroUsd: 0, unknownCosts: 1 },
    make: chat(({ requestId }, first) =>
      chats.refund('upstream_interrupted', {
        requestId,
        attempt: { ...call(first, 'transient'), errorClass: 'interrupted' },
      }),
    ),
  },
  {
    it: 'a chat whose call an error of the gateway ended',
    sums: { costMicroUsd: 0, unknownCosts: 1 },
    make: chat(({ requestId }, first) =>
      chats.refund('internal_error', { requestId, attempt: call(first, 'unknown') }),
    ),
  },
  { it: 'a chat that another channel answered', sums: only(70), make: answeredBySecond('transient') },
  {
    it: 'a chat that another channel answered after the first call broke off',
    sums: { costMicroUsd: 70, unknownCosts: 1 },
    make: answeredBySecond('unknown'),
  },
  {
    it: 'a chat whose client left before the answer',
    sums: { costMicroUsd: 0, unknownCosts: 1, left: 1 },
    make: chat(({ requestId }, first) => chats.refund('client_left', { requestId, attempt: call(first, 'unknown') })),
  },
  {
    it: 'a chat whose client left and was charged for the beginning',
    sums: { ...only(5), left: 1, leftCharged: 1 },
    make: chat((admission) => chats.end({ ...settledEnd(admission, 2), reason: 'client_left', costMicroUsd: 5 })),
  },
  {
    it: 'a chat whose process is gone',
    sums: { costMicroUsd: 0, unknownCosts: 1 },
    make: chat(async ({ requestId }) => {
      await run(db, `update hold set expires_at = clock_timestamp() - interval '1 second' where id = $1`, [requestId]);
      expect(await expireChats(db, 10)).toBe(1);
    }),
  },
  { it: 'a task that succeeded', sums: only(300), make: task('succeeded', { outcome: 'ok' }) },
  { it: 'a task that a provider refused', sums: only(0), make: task('failed', { outcome: 'refused' }) },
  { it: 'a task whose outcome is unknown', sums: only(300), make: task('failed', { outcome: 'unknown' }) },
  {
    it: 'a task that ended while its submit was under way',
    sums: { costMicroUsd: 0, unknownCosts: 1 },
    make: task('failed', { outcome: null }),
  },
  {
    it: 'a task that was canceled while its provider made it',
    sums: { ...only(300), left: 1 },
    make: task('canceled', { outcome: null, operation: { task_id: '1' } }),
  },
  { it: 'a task that was canceled before a call', sums: { ...only(0), left: 1 }, make: task('canceled', null) },
];

const requestIds = new Map<string, string>();

beforeAll(async () => {
  scratch = await createTestDatabase();
  db = await scratch.open();
  book = await openBook(db, { credits: 1_000_000 });
  chats = openChatLedger(db);
  for (const one of cases) requestIds.set(one.it, await one.make(one.it));
});
afterAll(() => scratch.drop());

const noted = ({ left, leftCharged, ...costs }: Sums): Required<Sums> => ({
  ...costs,
  left: left ?? 0,
  leftCharged: leftCharged ?? 0,
});
const all = cases.map((one): [string, Required<Sums>] => [one.it, noted(one.sums)]);
const expected = Object.fromEntries(all);
const unknownInAll = all.reduce((sum, [, { unknownCosts }]) => sum + unknownCosts, 0);

const nowSeconds = (): number => Math.ceil(Date.now() / 1_000) + 60;

async function spendByModel(): Promise<Record<string, Required<Sums>>> {
  const range = { from: nowSeconds() - 7_200, to: nowSeconds(), timeZone: 'UTC', measure: 'credits' } as const;
  const rows = await sumSpend(db, { ...range, groups: ['model'] }, 100);
  const ofModels = rows.filter(({ isTotal }) => !isTotal);
  return Object.fromEntries(ofModels.map((row) => [row.model ?? '', sumsOf(row)]));
}

const sumsOf = ({ costMicroUsd, unknownCosts, left, leftCharged }: Required<Sums>): Required<Sums> => ({
  costMicroUsd,
  unknownCosts,
  left,
  leftCharged,
});

describe('a cost that nobody knows', () => {
  it('is counted apart in usage, whether the entries were added up before or not, beside the clients that left', async () => {
    expect(await spendByModel()).toEqual(expected);
    await foldUsage(db, 0);
    expect(await spendByModel()).toEqual(expected);
  });

  it('is counted apart in the summary of the month, beside the clients that left', async () => {
    for (const day of await listOpenDays(db))
      await rebuildDay(db, { day, creditValueMicroUsd: 1, lagSeconds: 0, freezeAfterDays: 2 });
    const summary = await readSummary(db, new Date().toISOString().slice(0, 7));
    const byModel = Map.groupBy(summary?.rows ?? [], ({ model }) => model);
    const sums = cases.map(({ it: name }): [string, Required<Sums>] => {
      const rows = (byModel.get(name) ?? []).map(sumsOf);
      const sum = (of: keyof Sums): number => rows.reduce((soFar, row) => soFar + row[of], 0);
      const [costMicroUsd, unknownCosts] = [sum('costMicroUsd'), sum('unknownCosts')];
      return [name, { costMicroUsd, unknownCosts, left: sum('left'), leftCharged: sum('leftCharged') }];
    });
    expect(Object.fromEntries(sums)).toEqual(expected);
    expect(await breachesIn(db)).toEqual([]);
  });

  it('is counted apart in the overview, whether the entries were added up before or not', async () => {
    const overview = async () => {
      const to = nowSeconds();
      const { now, before } = await readRangeTraffic(db, { from: to - 3_600, before: to - 7_200, stepSeconds: 300 });
      const { today, yesterday } = await readTrafficParts(db);
      return [now, before, today, yesterday].map(({ unknownCosts }) => unknownCosts);
    };
    expect(await overview()).toEqual([unknownInAll, 0, unknownInAll, 0]);
    await foldTraffic(db, 0);
    expect(await overview()).toEqual([unknownInAll, 0, unknownInAll, 0]);
  });

  it.each(cases)('is told of each request and of each call: $it', async ({ it: modelId, sums }) => {
    const { costMicroUsd, unknownCosts } = sums;
    for (const sort of ['newest', '-credits']) {
      const { items } = await listRequests(db, { modelId }, { sort, limit: 10, after: null });
      expect(items).toEqual([expect.objectContaining({ costMicroUsd, unknownCosts })]);
    }
    const calls = await listAttemptDetails(db, requestIds.get(modelId) ?? '');
    expect(calls.filter(({ costUnknown }) => costUnknown)).toHaveLength(unknownCosts);
    expect(calls.filter((one) => one.costUnknown && one.costMicroUsd > 0)).toEqual([]);
  });

  it('is told of a chat that another channel answered, once the rows of its calls are deleted', async () => {
    const answered = cases.filter(({ sums }) => sums.costMicroUsd === 70);
    await run(db, 'delete from attempt where request_id = any ($1::text[])', [
      answered.map(({ it: name }) => requestIds.get(name)),
    ]);
    for (const { it: modelId } of answered) {
      const { items } = await listRequests(db, { modelId }, { sort: 'newest', limit: 10, after: null });
      expect(items).toEqual([expect.objectContaining({ costMicroUsd: 0, unknownCosts: 1 })]);
    }
  });

  it('is not told of a request that still runs', async () => {
    const admission = anAdmission(book, { modelId: 'running' });
    await chats.admit(admission);
    const { items } = await listRequests(db, { modelId: 'running' }, { sort: 'newest', limit: 10, after: null });
    expect(items).toEqual([expect.objectContaining({ outcome: 'running', unknownCosts: 0 })]);
  });
});

describe('the cost of a chat', () => {
  const classes: Record<ErrorClass, null> = {
    connect: null,
    rate_limit: null,
    provider_error: null,
    unreadable: null,
    interrupted: null,
    account: null,
    forbidden: null,
    unknown_model: null,
    redirect: null,
    rejected: null,
    content_policy: null,
    job_failed: null,
    job_lost: null,
    deadline: null,
    output: null,
  };

  it('is unknown after a failure by which the outcome of a media submit is unknown, and after no other', async () => {
    const names = Object.keys(classes) as ErrorClass[];
    const rows = await rowsOf<{ name: ErrorClass }>(
      db,
      `select name from unnest($1::text[]) as name where has_unknown_cost('req_1', 'transient', name, null, 0)`,
      [names],
    );
    const unknown = names.filter(
      (errorClass) => toSubmit({ kind: 'trouble', errorClass, detail: '' }).kind === 'unknown',
    );
    expect(rows.map(({ name }) => name)).toEqual(unknown);
  });
});

describe('the list of requests', () => {
  it('has as left what a client left, charged or not', async () => {
    const { items } = await listRequests(db, { outcome: 'left' }, { sort: 'newest', limit: 100, after: null });
    const expectedModels = all.filter(([, { left }]) => left > 0).map(([name]) => name);
    expect(items.map(({ modelId }) => modelId).sort()).toEqual(expectedModels.sort());
  });
});
