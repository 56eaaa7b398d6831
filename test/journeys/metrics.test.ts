import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { letModelsStream, stream } from '../services/chat/streams.ts';
import { mediaRoutes } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, type Gateway, type TestProject } from '../support/gateway.ts';
import { chooseOwnPort } from '../support/own-port.ts';
import { projectFolder } from '../support/program.ts';

let gateway: Gateway;
let project: TestProject;
/** Where the API server and the worker show their metrics. */
let urls: { api: string; worker: string };
let api: string;
let worker: string;

const token = randomUUID();
const outcomes = ['', '[[fail=transient]]', '[[fail=refused]]', '[[fail=malformed]]'];

beforeAll(async () => {
  const ports = new Set<number>();
  const [admin, health] = [await chooseOwnPort(ports), await chooseOwnPort(ports)];
  urls = { api: `http://127.0.0.1:${admin}/metrics`, worker: `http://127.0.0.1:${health}/metrics` };
  gateway = await startGateway({
    env: { ADMIN_PORT: String(admin), WORKER_HEALTH_PORT: String(health), METRICS_TOKEN: token },
  });
  project = await gateway.project({ credits: 1_000, rpm: 1_000 });
  await useGateway();
  // As what takes the backups does.
  await gateway.database.query('', 'update installation set last_backup_at = clock_timestamp()');
  const page = (url: string) => ask(url, token).then((answer) => answer.text());
  [api, worker] = await Promise.all([page(urls.api), page(urls.worker)]);
});
afterAll(() => gateway?.stop());

/** Ends tasks with callbacks and chats in each way, one of them streamed. */
async function useGateway(): Promise<void> {
  const { apiKey } = project;
  const taskIds: string[] = [];
  for (const outcome of outcomes)
    taskIds.push(
      await gateway.accept(apiKey, mediaRoutes.image, {
        model: 'aurora-image-1',
        prompt: `a fox [[latency=50]] ${outcome}`,
        callback_url: `${gateway.sandboxUrl}/_sandbox/inbox/metrics`,
      }),
    );
  for (const outcome of outcomes)
    await gateway.create(apiKey, '/api/v1/chat/completions', {
      model: 'gpt-5-mini',
      messages: [{ role: 'user', content: `hello ${outcome}` }],
      max_tokens: 16,
    });
  await letModelsStream(gateway, apiKey, ['gpt-5-mini']);
  expect((await stream(gateway, apiKey, { text: 'hello' })).isDone).toBe(true);
  for (const taskId of taskIds) await gateway.poll(apiKey, taskId);
  await eventually(async () => {
    const pending = await gateway.database.query('', `select id from delivery where state = 'pending'`);
    return pending.length === 0;
  });
}

describe('/metrics of an API server and a worker', () => {
  it.each(['api', 'worker'] as const)('answers 401 without METRICS_TOKEN (%s)', async (process) => {
    const url = urls[process];
    expect((await ask(url, '')).status).toBe(401);
    expect((await ask(url, project.apiKey)).status).toBe(401);
  });

  it('has one help text and one type for each name, before its values', () => {
    for (const page of [api, worker]) {
      expect(page.split('\n').filter((line) => line !== '' && !isLine(line))).toEqual([]);
      const types = [...page.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name);
      expect(new Set(types).size).toBe(types.length);
      const names = samplesOf(page).map(({ name }) => name.replace(/_(bucket|sum|count)$/, ''));
      expect(
        [...new Set(names)].filter(
          (name) =>
            !types.some((type) => [name, `${name}_sum`].includes(type) || name === type.replace(/_(sum|count)$/, '')),
        ),
      ).toEqual([]);
    }
  });

  it('counts requests by route, calls by channel, and what clients of streams waited', () => {
    expect(
      sum(api, 'tollgate_http_request_duration_seconds_count', { route: '/api/v1/chat/completions', status: '200' }),
    ).toBeGreaterThan(0);
    expect(
      sum(api, 'tollgate_upstream_request_duration_seconds_count', { operation: 'chat', outcome: 'ok' }),
    ).toBeGreaterThan(0);
    expect(
      sum(api, 'tollgate_upstream_request_duration_seconds_count', { operation: 'chat_stream', outcome: 'ok' }),
    ).toBe(1);
    expect(sum(api, 'tollgate_time_to_first_token_seconds_count')).toBe(1);
    expect(sum(worker, 'tollgate_upstream_request_duration_seconds_count', { operation: 'submit' })).toBeGreaterThan(3);
    expect(sum(worker, 'tollgate_callback_duration_seconds_count', { state: 'delivered' })).toBeGreaterThan(3);
    expect(sum(api, 'nodejs_eventloop_lag_seconds')).toBeGreaterThanOrEqual(0);
    expect(sum(worker, 'temporal_activity_task_received_total')).toBeGreaterThan(0);
  });

  it('counts the credits and tokens of the ledger, and the cost of what was sold', async () => {
    const { database } = gateway;
    const [books] = await database.query<Record<'credits' | 'tokens', number>>(
      '',
      `select -sum(credits)::float8 as credits, sum(input_tokens + output_tokens)::float8 as tokens
       from ledger_entry where kind = 'settle'`,
    );
    const both = `${api}\n${worker}`;
    expect(sum(both, 'tollgate_credits_charged_total')).toBe(books?.credits);
    expect(sum(both, 'tollgate_tokens_total')).toBe(books?.tokens);
    const [cost] = await database.query<{ micro: number }>(
      '',
      `select (select coalesce(sum(cost_micro_usd), 0) from attempt where outcome = 'ok')::float8
         + (select coalesce(sum(cost_micro_usd), 0) from ledger_entry)::float8 as micro`,
    );
    expect(sum(both, 'tollgate_upstream_cost_micro_usd_total')).toBe(cost?.micro);
  });

  it('shows the requests and streams in flight', async () => {
    const inFlight = async () =>
      sum(await ask(urls.api, token).then((answer) => answer.text()), 'tollgate_requests_in_flight');
    // The request for the metrics itself.
    expect(await inFlight()).toBe(1);
    const chats = [1, 2].map((n) => stream(gateway, project.apiKey, { text: `hello [[latency=2000]] ${n}` }));
    await eventually(async () => (await inFlight()) === 3, { what: 'two chats in flight' });
    await Promise.all(chats);
    await eventually(async () => (await inFlight()) === 1, { what: 'no chat in flight' });
  });

  it('shows what the installation has in hand, and its channels', () => {
    expect(sum(api, 'tollgate_database_up')).toBe(1);
    expect(sum(api, 'tollgate_holds')).toBe(0);
    expect(sum(api, 'tollgate_deliveries_pending')).toBe(0);
    expect(samplesOf(api).filter(({ name }) => name === 'tollgate_queue_age_seconds')).toHaveLength(6);
    expect(sum(api, 'tollgate_channel_up')).toBeGreaterThan(0);
    expect(samplesOf(worker).filter(({ name }) => name === 'tollgate_database_up')).toEqual([]);
  });

  it('has every metric that the alert rules and the dashboard name', () => {
    const folder = join(projectFolder, 'deploy');
    const files = ['prometheus/alerts.yaml', 'grafana/dashboards/tollgate.json'];
    const text = files.map((file) => readFileSync(join(folder, file), 'utf8')).join('\n');
    const named = new Set(text.match(/\b(tollgate|temporal|nodejs|process)_\w+/g));
    // Temporal's runtime shows this counter from the first failure on.
    const shown = new Set(['temporal_request_failure_total']);
    for (const [, name = ''] of `${api}\n${worker}`.matchAll(/^# TYPE (\S+)/gm)) shown.add(name);
    expect(named.size).toBeGreaterThan(20);
    expect([...named].filter((name) => !shown.has(name) && !shown.has(name.replace(/_(bucket|count)$/, '')))).toEqual(
      [],
    );
  });

  it('has no id of a project, key, task or request in a label', () => {
    const values = samplesOf(`${api}\n${worker}`).flatMap(({ labels }) => Object.values(labels));
    expect(
      [...new Set(values)].filter((value) => /(^|[^:])\b(prj|key|task|req|att|dlv|evt|chn)_\w/.test(value)),
    ).toEqual([]);
  });
});
const ask = (url: string, token: string): Promise<Response> =>
  fetch(url, {
    headers: token === '' ? {} : { authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(10_000),
  });

interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

const sampleLine = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const isLine = (line: string): boolean => /^# (HELP|TYPE) [\w:]+ \S/.test(line) || sampleLine.test(line);

const samplesOf = (page: string): Sample[] =>
  page.split('\n').flatMap((line) => {
    const [, name, labels = '', value = ''] = sampleLine.exec(line) ?? [];
    if (name === undefined) return [];
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key = '', text = '']) => [key, text]);
    return [{ name, labels: Object.fromEntries(pairs) as Record<string, string>, value: Number(value) }];
  });

/** The sum of the series of this name that have these labels; NaN if there is none. */
function sum(page: string, name: string, labels: Record<string, string> = {}): number {
  const found = samplesOf(page).filter(
    (sample) => sample.name === name && Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
  );
  return found.length === 0 ? NaN : found.reduce((total, { value }) => total + value, 0);
}
