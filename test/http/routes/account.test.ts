import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { adjustCredits } from '../../../src/services/ledger/adjust-credits.ts';
import { issuePlaygroundKey } from '../../../src/services/operators/issue-playground-key.ts';
import { setKey } from '../../../src/services/projects/set-key.ts';
import type { ChatLedger } from '../../../src/db/chat/chat-ledger.ts';
import type { Database } from '../../../src/db/database.ts';
import { listLowBalances } from '../../../src/db/ledger/low-balance.ts';
import type { Ledger } from '../../../src/db/ledger/ledger.ts';
import { accountRoutes } from '../../../src/http/routes/account.ts';
import type { Built } from '../../../src/main/build-deps.ts';
import { admitted, attemptEndedOk, breachesIn, newTask, openLedger, passDays, run, taskEnd } from '../../db/books.ts';
import { anAdmission, openChatLedger, refundFacts, settledEnd } from '../../db/chat-books.ts';
import { awayFromMidnight } from '../../support/away-from-midnight.ts';
import { buildQuietDeps } from '../../support/built-deps.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { quickSettings } from '../../support/gateway-settings.ts';
import { createOperator, type KeyOptions, type Operator, type TestProject } from '../../support/operator.ts';
import { lastAuditOf } from '../../support/rows.ts';
import { startFrame, type Frame } from '../support.ts';

await awayFromMidnight();

let scratch: TestDatabase;
let db: Database;
let built: Built;
let frame: Frame;
let operator: Operator;
let ledger: Ledger;
let chats: ChatLedger;
beforeAll(async () => {
  scratch = await createTestDatabase();
  db = await scratch.open();
  built = await buildQuietDeps(scratch.url);
  const { deps } = built;
  frame = await startFrame({ routes: accountRoutes(deps), deps: { authenticate: (secret) => deps.keys.find(secret) } });
  operator = createOperator(db, { ...quickSettings, DATABASE_URL: scratch.url, EGRESS_ALLOW_CIDRS: '' });
  ledger = openLedger(db);
  chats = openChatLedger(db);
});
afterAll(async () => {
  await frame?.close();
  await built?.close();
  await scratch?.drop();
});

async function ask(path: string, apiKey: string, { method = 'GET', accept = '*/*' } = {}) {
  const answer = await fetch(frame.url + path, { method, headers: { 'x-api-key': apiKey, accept } });
  return { status: answer.status, text: await answer.text(), headers: answer.headers };
}
async function read<Body>(path: string, apiKey: string, method?: string): Promise<Body> {
  const { status, text } = await ask(path, apiKey, method === undefined ? {} : { method });
  expect([path, status, text]).toEqual([path, 200, text]);
  return JSON.parse(text) as Body;
}
const refusal = async (path: string, apiKey: string): Promise<unknown> => {
  const { status, text } = await ask(path, apiKey);
  const { error } = JSON.parse(text) as { error: { code: string; param: string } };
  return [status, error.code, error.param];
};

async function aProject(limits: Partial<KeyOptions> & { credits?: number } = {}): Promise<TestProject> {
  return operator.project({ credits: 1_000, ...limits });
}
async function chat(book: TestProject, held: number, charged: number | null, modelId = 'model-a'): Promise<string> {
  const admission = anAdmission(book, { credits: held, modelId });
  expect((await chats.admit(admission)).verdict.kind).toBe('admitted');
  if (charged !== null) await chats.end(settledEnd(admission, charged));
  return admission.requestId;
}
async function task(book: TestProject, credits: number, end: 'succeeded' | 'failed' | null): Promise<string> {
  const { taskId } = await admitted(ledger, newTask(book, credits));
  if (end === 'succeeded') await attemptEndedOk(db, taskId);
  if (end !== null) await ledger.finishTask(taskEnd(taskId, end));
  return taskId;
}

interface Entry {
  entry_id: string;
  at: number;
  kind: string;
  credits: number;
  balance_after: number;
  task_id: string | null;
  request_id: string | null;
  key_id: string | null;
  reference: string | null;
  reason: string | null;
}
interface List<Item> {
  data: Item[];
  has_more: boolean;
  next_cursor: string | null;
}
interface Sums {
  requests: number;
  succeeded: number;
  failed: number;
  credits: number;
  input_tokens: number;
  output_tokens: number;
  cached_input_tokens: number;
  cache_write_tokens: number;
  cache_write_1h_tokens: number;
  reasoning_tokens: number;
}
type UsageRow = Sums & { day: string | null; model: string | null; key_id: string | null };
interface UsageList {
  data: UsageRow[];
  total: Sums;
}

describe('GET /api/v1/key', () => {
  it('returns what the key may do and what it has left, at this moment', async () => {
    const project = await aProject({ rpm: 30, inFlightMax: 5, budget: 500, scopes: ['chat'] });
    await setKey(
      { db },
      {
        keyId: project.keyId,
        changes: { budgetDaily: 40, budgetMonthly: 200, metadata: { team: 'ads' } },
        actor: 'test',
      },
    );
    await chat(project, 10, 7);
    await task(project, 25, null);
    await passDays(db, 1);
    await chat(project, 12, null);
    const now = new Date();
    const tomorrow = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + 1) / 1_000;
    const nextMonth = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1) / 1_000;
    const wasThisMonth = new Date(now.getTime() - 86_400_000).getUTCMonth() === now.getUTCMonth();
    const [spent, reserved] = wasThisMonth ? [7, 37] : [0, 12];
    expect(await read('/api/v1/key', project.apiKey)).toEqual({
      object: 'key',
      key_id: project.keyId,
      name: 'test',
      metadata: { team: 'ads' },
      project_id: project.projectId,
      scopes: ['chat'],
      models: null,
      expires_at: null,
      rpm: { limit: 30, remaining: 30 },
      budgets: [
        { period: 'lifetime', limit: 500, spent: 7, reserved: 37, remaining: 456, renews_at: null },
        { period: 'daily', limit: 40, spent: 0, reserved: 12, remaining: 28, renews_at: tomorrow },
        { period: 'monthly', limit: 200, spent, reserved, remaining: 200 - spent - reserved, renews_at: nextMonth },
      ],
      in_flight: { limit: 5, now: 2 },
      balance: { available: 956, reserved: 37, overdraft: 0, expiring: [], low: false },
    });
  });

  it('counts the requests of the last minute against the rate', async () => {
    const project = await aProject({ rpm: 4 });
    for (let n = 0; n < 3; n += 1) await chats.admit(anAdmission(project, { rpm: 4 }));
    expect(await read('/api/v1/key', project.apiKey)).toMatchObject({ rpm: { limit: 4, remaining: 1 } });
  });

  it('says that the balance is low if it lasts for less than three days of the last week', async () => {
    const project = await aProject({ credits: 100 });
    const low = async (): Promise<boolean> =>
      (await read<{ balance: { low: boolean } }>('/api/v1/key', project.apiKey)).balance.low;
    expect(await low()).toBe(false);
    await run(
      db,
      `insert into summary_day (day, through_entry_id, built_at) values ((clock_timestamp() at time zone 'UTC')::date - 2, 0, now());`,
    );
    const charged = (credits: number) =>
      run(
        db,
        `insert into daily_summary select day, $1, 'key', 'model-a', 'chn', 1, 0, $2, 0, 0, 0 from summary_day
         on conflict (day, project_id, key_id, model_id, channel_id) do update set credits_charged = excluded.credits_charged`,
        [project.projectId, credits],
      );
    await charged(233);
    expect(await low()).toBe(false);
    expect(await listLowBalances(db)).toEqual([]);
    await charged(234);
    expect(await low()).toBe(true);
    expect(await listLowBalances(db)).toEqual([{ projectId: project.projectId, balance: 100, week: 234 }]);
    await run(db, 'delete from daily_summary');
    await run(db, 'delete from summary_day');
  });
});

describe('POST /api/v1/key/rotate', () => {
  it('gives the key another secret once, and the old one works beside it', async () => {
    const project = await aProject();
    const rotated = await read<{ api_key: string; previous_until: number }>(
      '/api/v1/key/rotate',
      project.apiKey,
      'POST',
    );
    expect(rotated).toEqual({
      object: 'key',
      key_id: project.keyId,
      api_key: expect.stringMatching(/^sk-/),
      previous_until: expect.any(Number),
    });
    expect(Math.abs(rotated.previous_until - Date.now() / 1_000 - 86_400)).toBeLessThan(60);
    for (const secret of [project.apiKey, rotated.api_key]) {
      expect(await read('/api/v1/key', secret)).toMatchObject({ key_id: project.keyId });
    }
    expect(frame.logText()).not.toContain(rotated.api_key);
    const [entry] = await lastAuditOf(db, project.keyId);
    expect(entry).toMatchObject({ action: 'keys.rotate', detail: { project_id: project.projectId } });
  });

  it.each([0, 2])('is refused after ten times in a day, of a key that is %s days old', async (days) => {
    const project = await aProject();
    const aged = 'update api_key_secret set created_at = created_at - make_interval(days => $2) where key_id = $1';
    await run(db, aged, [project.keyId, days]);
    for (let n = 0; n < 10; n += 1) await read('/api/v1/key/rotate', project.apiKey, 'POST');
    const refused = await ask('/api/v1/key/rotate', project.apiKey, { method: 'POST' });
    expect([refused.status, refused.text]).toEqual([429, expect.stringContaining('10 times in 24 hours')]);
  });

  it('is refused for a key of the playground, which reads nothing of the whole project either', async () => {
    const { projectId } = await aProject();
    const access = { principalId: 'atk_1', name: 'Ada', role: 'operator', identity: null, expiresAt: null } as const;
    const { apiKey, keyId } = await issuePlaygroundKey(built.deps, { access, projectId, budgetDaily: 50 });
    const refused = await ask('/api/v1/key/rotate', apiKey, { method: 'POST' });
    expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('key of the playground')]);
    for (const path of ['/api/v1/usage', '/api/v1/ledger'])
      expect([path, (await ask(path, apiKey)).status]).toEqual([path, 403]);
    const budgets = [
      { period: 'daily', limit: 50, spent: 0, reserved: 0, remaining: 50, renews_at: expect.any(Number) },
    ];
    expect(await read('/api/v1/key', apiKey)).toMatchObject({ key_id: keyId, scopes: ['chat', 'media'], budgets });
  });
});

describe('GET /api/v1/ledger', () => {
  it('lists the entries of the project with the balance after each, newest first', async () => {
    const project = await aProject();
    const other = await aProject();
    const requestId = await chat(project, 10, 7);
    const [ended, failed] = [await task(project, 25, 'succeeded'), await task(project, 30, 'failed')];
    await adjustCredits({ db }, { requestId: ended, amount: 5, reason: 'late', actor: 'test' });
    await task(project, 40, null);
    await chat(other, 3, 3);
    const { data } = await read<List<Entry>>('/api/v1/ledger', project.apiKey);
    const { keyId: key_id } = project;
    const entry = {
      entry_id: expect.stringMatching(/^entry_\d+$/),
      at: expect.any(Number),
      key_id,
      reference: null,
      reason: null,
      input_tokens: null,
      output_tokens: null,
      cached_input_tokens: null,
      cache_write_tokens: null,
      cache_write_1h_tokens: null,
      reasoning_tokens: null,
    };
    expect(data).toEqual([
      { ...entry, kind: 'adjust', credits: 5, balance_after: 973, task_id: ended, request_id: null, reference: 'late' },
      {
        ...entry,
        kind: 'refund',
        credits: 0,
        balance_after: 968,
        task_id: failed,
        request_id: null,
        reason: 'upstream_failed',
      },
      { ...entry, kind: 'settle', credits: -25, balance_after: 968, task_id: ended, request_id: null },
      {
        ...entry,
        kind: 'settle',
        credits: -7,
        balance_after: 993,
        task_id: null,
        request_id: requestId,
        input_tokens: 1,
        output_tokens: 1,
      },
      {
        ...entry,
        kind: 'topup',
        credits: 1_000,
        balance_after: 1_000,
        task_id: null,
        request_id: null,
        key_id: null,
        reference: 'start',
      },
    ]);
    const kinds = async (query: string): Promise<string[]> =>
      (await read<List<Entry>>(`/api/v1/ledger?${query}`, project.apiKey)).data.map(({ kind }) => kind);
    expect(await kinds(`task_id=${ended}`)).toEqual(['adjust', 'settle']);
    expect(await kinds(`request_id=${requestId}`)).toEqual(['settle']);
    expect(await kinds(`task_id=${ended}&request_id=${requestId}`)).toEqual([]);
    expect(await kinds(`key_id=${key_id}`)).toEqual(['adjust', 'refund', 'settle', 'settle']);
    expect(await kinds(`key_id=${other.keyId}`)).toEqual([]);
    expect((await read<List<Entry>>(`/api/v1/ledger?task_id=${ended}`, other.apiKey)).data).toEqual([]);
  });

  it('says why chats and a task were refunded or given back, also as a table', async () => {
    const project = await aProject();
    const admission = anAdmission(project, { credits: 5 });
    await chats.admit(admission);
    await chats.refund('client_left', refundFacts(admission));
    const undelivered = anAdmission(project, { credits: 5 });
    await chats.admit(undelivered);
    await chats.end(settledEnd(undelivered, 3));
    await chats.giveBack(settledEnd(undelivered, 3));
    const failed = await task(project, 5, 'failed');
    const { data } = await read<List<Entry>>('/api/v1/ledger?limit=4', project.apiKey);
    expect(data.map(({ kind, reference, reason }) => [kind, reference, reason])).toEqual([
      ['refund', null, 'upstream_failed'],
      ['adjust', null, 'not_delivered'],
      ['settle', null, null],
      ['refund', null, 'client_left'],
    ]);
    const csv = await ask(`/api/v1/ledger?task_id=${failed}`, project.apiKey, { accept: 'text/csv' });
    expect(csv.text).toMatch(/,refund,0,1000,task_\w+,,key_\w+,,upstream_failed,,,,,,\r\n$/);
  });

  it('lists each entry once, page by page, while chats and tasks end', async () => {
    const project = await aProject();
    for (let n = 0; n < 12; n += 1) await chat(project, 5, 2);
    const seen: Entry[] = [];
    let cursor: string | null = null;
    do {
      const page: List<Entry> = await read(
        `/api/v1/ledger?limit=4${cursor === null ? '' : `&after=${cursor}`}`,
        project.apiKey,
      );
      seen.push(...page.data);
      cursor = page.next_cursor;
      await Promise.all([chat(project, 5, 1), task(project, 5, 'failed'), chat(project, 5, 1)]);
    } while (cursor !== null);
    expect(seen.map(({ balance_after: after }) => after)).toEqual(
      Array.from({ length: 13 }, (_, at) => 1_000 - 2 * (12 - at)),
    );
    const all = await read<List<Entry>>('/api/v1/ledger?limit=100', project.apiKey);
    for (const [at, { balance_after: after, credits }] of all.data.entries()) {
      expect(after).toBe((all.data[at + 1]?.balance_after ?? 0) + credits);
    }
  });

  it.each([
    ['text/csv;charset=utf-8', 'text/csv'],
    ['text/csv; charset="UTF-8"; header=present', 'text/csv'],
    ['Text/CSV; version="a,b;q=0"; q=0.9, application/json;q=0.1', 'text/csv'],
    ['text/*', 'text/csv'],
    ['text/csv;q=0.5, application/json; charset=utf-8', 'application/json'],
    ['text/csv;q=0, */*', 'application/json'],
    ['*/*', 'application/json'],
    ['image/png', 'application/json'],
    ['', 'application/json'],
    [';;,,=";', 'application/json'],
  ])('answers a request with Accept %j in %s, and the usage as well', async (accept, expected) => {
    const project = await aProject();
    for (const name of ['ledger', 'usage']) {
      const answer = await ask(`/api/v1/${name}`, project.apiKey, { accept });
      expect([answer.status, answer.headers.get('content-type')]).toEqual([200, `${expected}; charset=utf-8`]);
      expect(answer.headers.get('vary')).toContain('Accept');
      const file = expected === 'text/csv' ? `attachment; filename="${name}.csv"` : null;
      expect(answer.headers.get('content-disposition')).toBe(file);
    }
  });

  it('answers text/csv if the client prefers it, with the next page in the Link header', async () => {
    const project = await aProject();
    await operator.addCredits(project.projectId, 5);
    const csv = await ask('/api/v1/ledger?limit=1', project.apiKey, { accept: 'text/csv' });
    expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    const [head, line, end] = csv.text.split('\r\n');
    expect(head).toBe(
      'entry_id,at,kind,credits,balance_after,task_id,request_id,key_id,reference,reason,' +
        'input_tokens,output_tokens,cached_input_tokens,cache_write_tokens,cache_write_1h_tokens,reasoning_tokens',
    );
    expect(line).toMatch(/^entry_\d+,\d+,topup,5,1005,,,,[\w-]+,,,,,,,$/);
    expect(end).toBe('');
    const next = /^<(.*)>; rel="next"$/.exec(csv.headers.get('link') ?? '')?.[1] ?? '';
    const second = await ask(next, project.apiKey, { accept: 'text/csv' });
    expect(second.text).toMatch(/topup,1000,1000,,,,start,,,,,,,\r\n$/);
    expect(second.headers.get('link')).toBeNull();
  });
});

describe('GET /api/v1/usage', () => {
  it('adds up what ended, by day, model and key, with a total', async () => {
    const project = await aProject();
    const second = { ...project, ...(await operator.key(project.projectId)) };
    await chat(project, 10, 7);
    await chat(project, 10, 3, 'model-b');
    await passDays(db, 2);
    await chat(second, 10, 4);
    await task(project, 20, 'succeeded');
    await task(project, 20, 'failed');
    const day = (ago: number): string => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10);
    const sums = (requests: number, failed: number, credits: number, tokens: number): Sums => ({
      requests,
      succeeded: requests - failed,
      failed,
      credits,
      input_tokens: tokens,
      output_tokens: tokens,
      cached_input_tokens: 0,
      cache_write_tokens: 0,
      cache_write_1h_tokens: 0,
      reasoning_tokens: 0,
    });
    const all = await read<UsageList>('/api/v1/usage', project.apiKey);
    const byKey = (keyId: string) => (keyId < project.keyId ? -1 : 1);
    const today = [
      { day: day(0), model: 'model-a', key_id: project.keyId, ...sums(2, 1, 20, 0) },
      { day: day(0), model: 'model-a', key_id: second.keyId, ...sums(1, 0, 4, 1) },
    ];
    if (byKey(second.keyId) < 0) today.reverse();
    expect(all).toEqual({
      object: 'list',
      data: [
        ...today,
        { day: day(2), model: 'model-a', key_id: project.keyId, ...sums(1, 0, 7, 1) },
        { day: day(2), model: 'model-b', key_id: project.keyId, ...sums(1, 0, 3, 1) },
      ],
      total: sums(5, 1, 34, 3),
    });
    const groupedBy = async (query: string) =>
      (await read<UsageList>(`/api/v1/usage?${query}`, project.apiKey)).data.map((row) => [
        row.day ?? row.model ?? row.key_id,
        row.credits,
      ]);
    expect(await groupedBy('group_by=model')).toEqual([
      ['model-a', 31],
      ['model-b', 3],
    ]);
    expect(await groupedBy(`group_by=day&key_id=${second.keyId}`)).toEqual([[day(0), 4]]);
    const midnight = Date.parse(`${day(0)}T00:00:00Z`) / 1_000;
    expect(await groupedBy(`group_by=day&from=${midnight}`)).toEqual([[day(0), 24]]);
    expect(await groupedBy(`group_by=day&to=${midnight}`)).toEqual([[day(2), 10]]);
  });

  it('answers its rows as text/csv, without the total', async () => {
    const project = await aProject();
    await chat(project, 10, 7);
    const { data } = await read<{ data: Record<string, unknown>[] }>('/api/v1/usage', project.apiKey);
    const csv = await ask('/api/v1/usage', project.apiKey, { accept: 'text/csv' });
    const [head = '', ...lines] = csv.text.split('\r\n');
    expect(head).toBe(
      'day,model,key_id,requests,succeeded,failed,credits,input_tokens,output_tokens,cached_input_tokens,cache_write_tokens,cache_write_1h_tokens,reasoning_tokens',
    );
    expect(lines).toEqual([
      ...data.map((row) =>
        head
          .split(',')
          .map((column) => row[column])
          .join(','),
      ),
      '',
    ]);
  });

  it('cuts days by the asked time zone', async () => {
    const project = await aProject();
    await chat(project, 10, 7);
    const [end] = (await read<List<Entry>>('/api/v1/ledger', project.apiKey)).data;
    for (const tz of ['Pacific/Kiritimati', 'Pacific/Pago_Pago', 'Asia/Kolkata']) {
      const { data } = await read<UsageList>(`/api/v1/usage?group_by=day&tz=${tz}`, project.apiKey);
      const dayOf = new Intl.DateTimeFormat('en-CA', { timeZone: tz });
      expect([tz, data[0]?.day]).toEqual([tz, dayOf.format(new Date((end?.at ?? 0) * 1_000))]);
    }
  });

  it('refuses a range, a group or a time zone that it does not know', async () => {
    const { apiKey } = await aProject();
    for (const [query, param] of [
      ['from=10&to=10', 'from'],
      ['from=0&to=99999999', 'from'],
      ['from=yesterday', 'from'],
      ['group_by=channel', 'group_by'],
      ['tz=Mars', 'tz'],
      ['tz=%2B02:00', 'tz'],
    ]) {
      expect([query, await refusal(`/api/v1/usage?${query}`, apiKey)]).toEqual([query, [400, 'invalid_value', param]]);
    }
  });

  it('equals the ledger: its credits are what was settled less what was given back, and the entries add up to the balance', async () => {
    const project = await aProject();
    const requests = Array.from({ length: 40 }, (_, n) => async () => {
      if (n % 4 === 3) return task(project, 3 + n, n % 8 === 3 ? 'succeeded' : 'failed');
      return chat(project, 10, n % 4 === 0 ? null : n % 7);
    });
    const ids = await Promise.all(requests.map((one) => one()));
    await adjustCredits({ db }, { requestId: ids[3] ?? '', amount: 2, reason: 'late', actor: 'test' });
    const { data } = await read<List<Entry>>('/api/v1/ledger?limit=100', project.apiKey);
    const sum = (kinds: string[]): number =>
      data.filter(({ kind }) => kinds.includes(kind)).reduce((all, { credits }) => all + credits, 0);
    const { balance } = await read<{ balance: { available: number; reserved: number } }>('/api/v1/key', project.apiKey);
    expect(sum(['topup', 'settle', 'refund', 'adjust'])).toBe(balance.available + balance.reserved);
    const { total } = await read<UsageList>('/api/v1/usage', project.apiKey);
    expect(total.credits).toBe(-sum(['settle']) - sum(['adjust']));
    expect(await breachesIn(db)).toEqual([]);
  });
});
