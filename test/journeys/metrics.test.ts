import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { letModelsStream, stream } from '../services/chat/streams.ts';
import { mediaRoutes } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, type Gateway, type TestProject } from '../support/gateway.ts';
import { chooseOwnPort } from '../support/own-port.ts';
import { isLine, samplesOf, sumOf, typesOf } from '../support/metric-samples.ts';
import { projectFolder } from '../support/program.ts';

let gateway: Gateway;
let project: TestProject;
/** Where the API server and the worker show their metrics. */
let urls: { api: string; worker: string };
let api: string;
let worker: string;

const token = randomUUID();
/** Whatever reads our metrics by name. */
const sourcesOfNames = [
  'deploy/prometheus/alerts.yaml',
  'deploy/grafana/dashboards/tollgate.json',
  'deploy/helm/tollgate/templates/autoscaling.yaml',
  'deploy/helm/tollgate/values.yaml',
  'docs/PRODUCTION.md',
  'docs/RUNBOOK.md',
  'docs/SCALING.md',
];
const outcomes = ['', '[[fail=transient]]', '[[fail=refused]]', '[[fail=malformed]]'];

beforeAll(async () => {
  const [admin, health] = [await chooseOwnPort(), await chooseOwnPort()];
  urls = { api: `http://127.0.0.1:${admin}/metrics`, worker: `http://127.0.0.1:${health}/metrics` };
  gateway = await startGateway({
    env: { ADMIN_PORT: String(admin), WORKER_HEALTH_PORT: String(health), METRICS_TOKEN: token },
  });
  project = await gateway.project({ credits: 1_000, rpm: 1_000 });
  await useGateway();
  // As what takes the backups does.
  await gateway.database.query('', 'update installation set last_backup_at = clock_timestamp()');
  const page = (url: string) => ask(url, token).then((answer) => answer.text());
  // A process counts what it has written to the database after it, and a stream is settled after its last piece.
  const counted = eventually(
    async () => {
      [api, worker] = await Promise.all([page(urls.api), page(urls.worker)]);
      return JSON.stringify(countsOf(`${api}\n${worker}`)) === JSON.stringify(await countsInBooks());
    },
    { what: 'the counts of what has ended' },
  );
  // The tests below say which count differs.
  await counted.catch(() => undefined);
});
afterAll(() => gateway?.stop());

/** What both processes have counted of what has ended. */
const countsOf = (page: string): Record<string, number> => ({
  credits: sumOf(page, 'tollgate_credits_charged_total'),
  tokens: sumOf(page, 'tollgate_tokens_total'),
  cost: sumOf(page, 'tollgate_upstream_cost_micro_usd_total'),
  delivered: sumOf(page, 'tollgate_callback_duration_seconds_count', { state: 'delivered' }),
  firstTokens: sumOf(page, 'tollgate_time_to_first_token_seconds_count'),
  holds: sumOf(page, 'tollgate_holds'),
  pending: sumOf(page, 'tollgate_deliveries_pending'),
});

/** The same in the database. */
async function countsInBooks(): Promise<Record<string, number> | undefined> {
  const [books] = await gateway.database.query<Record<string, number>>(
    '',
    `select -sum(credits)::float8 as credits, sum(input_tokens + output_tokens)::float8 as tokens,
       (select coalesce(sum(cost_micro_usd), 0) from attempt where outcome = 'ok')::float8
         + (select coalesce(sum(cost_micro_usd), 0) from ledger_entry)::float8 as cost,
       (select count(*) from delivery where state = 'delivered')::float8 as delivered, 1::float8 as first_tokens,
       (select count(*) from hold)::float8 as holds, 0::float8 as pending
     from ledger_entry where kind = 'settle'`,
  );
  return books;
}

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
      sumOf(api, 'tollgate_http_request_duration_seconds_count', { route: '/api/v1/chat/completions', status: '200' }),
    ).toBeGreaterThan(0);
    expect(
      sumOf(api, 'tollgate_upstream_request_duration_seconds_count', { operation: 'chat', outcome: 'ok' }),
    ).toBeGreaterThan(0);
    expect(
      sumOf(api, 'tollgate_upstream_request_duration_seconds_count', { operation: 'chat_stream', outcome: 'ok' }),
    ).toBe(1);
    expect(sumOf(api, 'tollgate_time_to_first_token_seconds_count')).toBe(1);
    expect(sumOf(worker, 'tollgate_upstream_request_duration_seconds_count', { operation: 'submit' })).toBeGreaterThan(
      3,
    );
    expect(sumOf(worker, 'tollgate_callback_duration_seconds_count', { state: 'delivered' })).toBeGreaterThan(3);
    expect(sumOf(api, 'nodejs_eventloop_lag_seconds')).toBeGreaterThanOrEqual(0);
    expect(sumOf(worker, 'temporal_activity_task_received_total')).toBeGreaterThan(0);
  });

  it('counts the credits and tokens of the ledger, and the cost of what was sold', async () => {
    expect(countsOf(`${api}\n${worker}`)).toEqual(await countsInBooks());
  });

  it('shows the requests and streams in flight', async () => {
    const inFlight = async () =>
      sumOf(await ask(urls.api, token).then((answer) => answer.text()), 'tollgate_requests_in_flight');
    // The request for the metrics itself.
    await eventually(async () => (await inFlight()) === 1, { what: 'no other request in flight' });
    const leaving = new AbortController();
    const chats = [1, 2].map((n) =>
      stream(gateway, project.apiKey, { text: `hello [[latency=60000]] ${n}` }, { signal: leaving.signal }),
    );
    await eventually(async () => (await inFlight()) === 3, { what: 'two chats in flight' });
    leaving.abort();
    await Promise.allSettled(chats);
    await eventually(async () => (await inFlight()) === 1, { what: 'no chat in flight' });
  });

  it('shows what the installation has in hand, and its channels', () => {
    expect(sumOf(api, 'tollgate_database_up')).toBe(1);
    expect(sumOf(api, 'tollgate_holds')).toBe(0);
    expect(sumOf(api, 'tollgate_deliveries_pending')).toBe(0);
    expect(samplesOf(api).filter(({ name }) => name === 'tollgate_queue_age_seconds')).toHaveLength(6);
    expect(sumOf(api, 'tollgate_channel_up')).toBeGreaterThan(0);
    expect(samplesOf(worker).filter(({ name }) => name === 'tollgate_database_up')).toEqual([]);
  });

  it.each(sourcesOfNames)('has every metric and label that is named in %s', (file) => {
    const shown = new Map<string, Set<string>>();
    const add = (name: string, labels: Iterable<string>) =>
      shown.set(name, new Set([...(shown.get(name) ?? []), ...labels]));
    for (const { name, labels } of samplesOf(`${api}\n${worker}`)) {
      for (const one of [name, name.replace(/_(bucket|sum|count)$/, '')]) add(one, Object.keys(labels));
    }
    for (const page of [api, worker]) for (const name of typesOf(page).keys()) add(name, []);
    // Only of what fails: alert-drill.test.ts makes it.
    add('temporal_request_failure_total', ['operation']);
    add('tollgate_channel_state', ['channel', 'model', 'state']);
    const named = namedIn(readFileSync(join(projectFolder, file), 'utf8'));
    expect(named.length).toBeGreaterThan(0);
    expect(
      named.filter(({ name, labels }) => !shown.has(name) || labels.some((label) => !shown.get(name)?.has(label))),
    ).toEqual([]);
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
    signal: AbortSignal.timeout(60_000),
  });

/** The metrics that a text names, with the labels by which it selects them: those of `name{label="value"}` and of `name{label}` in a document. */
const namedIn = (text: string): { name: string; labels: string[] }[] =>
  [...text.matchAll(/\b((?:tollgate|temporal|nodejs|process)_\w+)\b(?![*(])(?:\{([^}]*)\})?/g)]
    .map(([, name = '', selector = '']) => ({
      name,
      labels: selector
        .replace(/\\?"[^"]*"/g, '')
        .split(',')
        .map((part) => part.replace(/[=!~\\].*/, '').trim())
        .filter((label) => label !== '' && label !== 'job' && label !== 'instance'),
    }))
    // A role of PostgreSQL and an alarm.
    .filter(({ name }) => !name.endsWith('_') && !['tollgate_owner', 'temporal_away'].includes(name));
