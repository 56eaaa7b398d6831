import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { createAdminToken } from '../../src/services/operators/create-admin-token.ts';
import type { GreedyRequest } from '../fairness/greedy-callers.ts';
import { p95, startGreedyCallers } from '../fairness/other-tenant.ts';
import { startGateway, type Gateway, type TestProject } from '../support/gateway.ts';
import { operatorHistory as history, writeOperatorHistory } from '../support/operator-history.ts';
import { testConfig } from '../support/test-config.ts';
import { recordMeasurements } from './results.ts';

const operators = 5;
const clients = 4;
const windowSeconds = 20;
const windows = 3;
/** How long it is until an operator reads the same again: each reads a list, a page or a figure a second, as one who opens a page every three seconds. */
const readPauseMs = 25_000;

/** What the pages of the console read. */
const reads = [
  '/overview',
  '/alarms',
  '/tasks?limit=50',
  '/requests?limit=50',
  '/catalog',
  '/plans',
  '/channels',
  '/projects?limit=50',
  '/projects?limit=1000',
  '/deliveries?limit=50',
  '/audit?limit=50',
  '/jobs?limit=50',
  '/tasks?status=failed&limit=10',
  '/chats?outcome=refunded&limit=10',
  `/tasks/${history.task(7)}`,
  `/chats/${history.chat(1)}`,
  `/keys?project=${history.project}`,
  `/ledger?project=${history.project}&limit=50`,
  '/usage?group_by=day,model&top=7&top_by=credits',
  '/usage?group_by=model',
  '/requests?model=chat-h-1&limit=50',
  '/search?q=project',
  '/admin-tokens?limit=50',
  '/operators?limit=50',
  '/session',
];

let gateway: Gateway;
let project: TestProject;
let requests: GreedyRequest[];
beforeAll(async () => {
  gateway = await startGateway();
  project = await gateway.project({ credits: 1_000_000 });
  const size = { entries: 100_000, entriesPerTask: 10, projects: 2_000, keys: 2, days: 60 };
  await writeOperatorHistory(gateway.databaseUrl, { ...size, audits: 20_000, scheduledJobRuns: 5_000 });
  await gateway.database.query('', 'vacuum analyze');
  const deps = { db: gateway.database, config: testConfig(gateway.env) };
  const role = { role: 'owner', expiresAt: null, actor: 'test' } as const;
  requests = [];
  for (let n = 1; n <= operators; n += 1) {
    const { token } = await createAdminToken(deps, { ...role, name: `operator ${n}` });
    for (const path of reads) {
      const url = `${gateway.baseUrl}/api/admin/v1${path}`;
      const headers = { authorization: `Bearer ${token}` };
      requests.push({ name: `${n} ${path}`, url, method: 'GET', headers, readPauseMs });
    }
  }
});
afterAll(async () => {
  await gateway.database.query('', `delete from hold where id like 'task\\_1%'`);
  await gateway.stop();
});

/** The milliseconds of each chat of some clients that pause between two. */
async function chatFor(seconds: number): Promise<number[]> {
  const until = Date.now() + seconds * 1_000;
  const times: number[] = [];
  const body = { model: 'gpt-5-mini', max_tokens: 50, messages: [{ role: 'user', content: 'Name a use of a gate' }] };
  const client = async (): Promise<void> => {
    while (Date.now() < until) {
      const began = performance.now();
      const { status } = await gateway.create(project.apiKey, '/api/v1/chat/completions', body);
      if (status !== 200) throw new Error(`a chat was answered with ${status}`);
      times.push(performance.now() - began);
      await sleep(20);
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  return times;
}

it('keeps the chats of a project within 1.2 times their time beside five busy operators', async () => {
  await chatFor(5);
  const [quiet, beside]: [number[], number[]] = [[], []];
  let answered = 0;
  // In turn, because other work on the machine changes.
  for (let window = 0; window < windows; window += 1) {
    quiet.push(...(await chatFor(windowSeconds)));
    const busy = startGreedyCallers(requests, 1);
    try {
      await sleep(5_000);
      beside.push(...(await chatFor(windowSeconds)));
      for (const [read, seen] of Object.entries(busy.seen())) {
        expect([read, Object.keys(seen).filter((status) => status !== '200')]).toEqual([read, []]);
        answered += seen[200] ?? 0;
      }
    } finally {
      await busy.stop();
    }
  }
  const [quietMs, attackedMs] = [p95(quiet), p95(beside)];
  process.stdout.write(
    `${answered} reads answered, ${quiet.length} and ${beside.length} chats, load ${loadavg()[0]}\n`,
  );
  await recordMeasurements('five busy operators at the console', [{ request: 'chat', quietMs, attackedMs }]);
  expect(attackedMs).toBeLessThanOrEqual(1.2 * quietMs);
});
