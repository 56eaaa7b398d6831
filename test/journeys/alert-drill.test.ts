import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { readOverview } from '../../src/services/operators/read-overview.ts';
import { startCuttingProxy } from '../db/cutting-proxy.ts';
import { alertsAtFault, type FaultSeen, type Scrape } from '../deploy/rule-cases.ts';
import { mediaRoutes } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, type Gateway, type TestProject } from '../support/gateway.ts';
import { sumOf } from '../support/metric-samples.ts';
import { chooseOwnPort } from '../support/own-port.ts';
import { projectFolder } from '../support/program.ts';
import { pause } from '../../src/platform/pause.ts';
import { testConfig } from '../support/test-config.ts';

const chatRoute = '/api/v1/chat/completions';
const Rules = z.object({
  groups: z.array(z.object({ rules: z.array(z.looseObject({ alert: z.string().optional() })) })),
});
const allAlerts = Rules.parse(parse(readFileSync(join(projectFolder, 'deploy/prometheus/alerts.yaml'), 'utf8')))
  .groups.flatMap(({ rules }) => rules)
  .flatMap(({ alert }) => alert ?? []);

let gateway: Gateway;
let project: TestProject;
/** Where the first API server and the first worker show their metrics. */
let urls: { api: string; worker: string };
const token = randomUUID();

beforeAll(async () => {
  const [admin, health] = [await chooseOwnPort(), await chooseOwnPort()];
  urls = { api: `http://127.0.0.1:${admin}/metrics`, worker: `http://127.0.0.1:${health}/metrics` };
  gateway = await startGateway({
    env: { ADMIN_PORT: String(admin), WORKER_HEALTH_PORT: String(health), METRICS_TOKEN: token },
  });
  project = await gateway.project({ credits: 1_000, rpm: 1_000 });
  // As what takes the backups does.
  await gateway.database.query('', 'update installation set last_backup_at = clock_timestamp()');
});
afterAll(() => gateway?.stop());

/**
 * Makes the fault of every alert in a gateway, reads /metrics before and during it, and demands that the rule fires by promtool, so that no
 * rule names a metric or a label that the processes do not have. The workers of the gateway are replaced.
 */
describe('the alerts of deploy/prometheus/alerts.yaml', () => {
  it('fire by the metrics of their fault and not before it, and the overview knows what lasts', async () => {
    const drill = await openDrill();
    try {
      await providersFail(drill);
      await processIsSlow(drill);
      await workersGo(drill);
      await queuesStand(drill);
      await databaseGoes(drill);
      await apiGoes(drill);
      expect(drill.faults.map(({ alert }) => alert).sort()).toEqual([...allAlerts].sort());
      expect(alertsAtFault(drill.faults)).toBe('');
    } finally {
      await drill.close();
    }
    // A slow machine takes minutes for the thirty faults.
  }, 900_000);
});

type Drill = Awaited<ReturnType<typeof openDrill>>;

/** Starts an API server with a way to PostgreSQL of its own, no Temporal and no bucket, whose credits are worth next to nothing. */
async function openDrill() {
  const [adminPort, noPort] = [await chooseOwnPort(), await chooseOwnPort()];
  const database = await startCuttingProxy(Number(new URL(gateway.databaseUrl).port));
  const url = new URL(gateway.env['DATABASE_URL'] ?? '');
  url.port = String(database.port);
  const broken = await gateway.startApi({
    ADMIN_PORT: String(adminPort),
    DATABASE_URL: url.href,
    DATABASE_POOL_MAX: '1',
    TEMPORAL_ADDRESS: `127.0.0.1:${noPort}`,
    FILES_DRIVER: 's3',
    FILES_S3_ENDPOINT: `http://127.0.0.1:${noPort}`,
    FILES_S3_BUCKET: 'none',
    FILES_S3_ACCESS_KEY_ID: 'none',
    FILES_S3_SECRET_ACCESS_KEY: 'none',
    CREDIT_VALUE_MICRO_USD: '1',
    // A chat whose settlement fails is answered before its client gives up.
    CHAT_HOLD_EXTRA_SECONDS: '20',
  });
  const scrape = async (job: Scrape['job'], from: string): Promise<Scrape> => {
    const headers = { authorization: `Bearer ${token}` };
    const answer = await fetch(from, { headers, signal: AbortSignal.timeout(60_000) }).catch(() => null);
    return { job, instance: job, page: answer?.ok ? await answer.text() : null };
  };
  const api = () => scrape('tollgate-api', `http://127.0.0.1:${adminPort}/metrics`);
  const faults: FaultSeen[] = [];
  /** A page on which all of these are up: what does not answer within a second, as on a busy machine, is shown as down. */
  const scrapeWhileUp = (ask: () => Promise<Scrape>, ...names: string[]): Promise<Scrape> =>
    eventually(
      async () => {
        const now = await ask();
        return names.every((name) => sumOf(now.page ?? '', `tollgate_${name}_up`) === 1) && now;
      },
      { what: `a page with ${names.join(', ')}` },
    );
  const well = await scrapeWhileUp(() => scrape('tollgate-api', urls.api), 'database', 'temporal', 'files');
  return {
    broken,
    database,
    faults,
    api,
    /** Of the same API server, before a fault. */
    calmApi: () => scrapeWhileUp(api, 'database'),
    well,
    worker: (from = urls.worker) => scrape('tollgate-worker', from),
    chat: (text: string) =>
      gateway.create(
        project.apiKey,
        chatRoute,
        { model: 'gpt-5-mini', messages: [{ role: 'user', content: text }], max_tokens: 16 },
        { baseUrl: broken.baseUrl },
      ),
    /** Scrapes until a fault is seen, and notes it for its alerts. */
    seen: async (
      before: Scrape,
      ask: () => Promise<Scrape>,
      isThere: (page: string) => boolean,
      ...alerts: string[]
    ): Promise<void> => {
      const what = `the fault of ${alerts.join(', ')}`;
      const during = await eventually(
        async () => {
          const now = await ask();
          return isThere(now.page ?? '') && now;
        },
        { what },
      );
      faults.push(...alerts.map((alert) => ({ alert, before: [before], during: [during] })));
    },
    close: () => database.close(),
  };
}

const has =
  (name: string, labels: Record<string, string>, over = 0) =>
  (page: string) =>
    sumOf(page, name, labels) > over;
const isZero = (name: string) => (page: string) => sumOf(page, name) === 0;

async function providersFail({ api, calmApi, chat, well, seen, faults }: Drill): Promise<void> {
  await seen(well, api, isZero('tollgate_temporal_up'), 'TollgateTemporalDown');
  await seen(well, api, isZero('tollgate_files_up'), 'TollgateFilesDown');
  // No test can fill a disk, or make PostgreSQL wait for ten minutes.
  for (const [alert, name, value] of [
    ['TollgateDiskFull', 'tollgate_files_free_bytes', '2e9'],
    ['TollgateWalNotArchived', 'tollgate_wal_not_archived_seconds', '700'],
  ] as const) {
    const page = (well.page ?? '').replace(new RegExp(`^${name} .*$`, 'm'), `${name} ${value}`);
    expect(sumOf(page, name)).toBe(Number(value));
    faults.push({ alert, before: [well], during: [{ ...well, page }] });
  }
  await chat('calm');
  const calm = await calmApi();
  await chat('sold for less than it costs [[usage=100000,16]]');
  await seen(calm, api, has('tollgate_upstream_cost_micro_usd_total', {}), 'TollgateSoldAtLoss');
  for (let n = 0; n < 12; n++) await chat(`a failing provider ${n} [[fail=transient]]`);
  const isFailing = (page: string) => /http_request_duration_seconds_count\{[^}]*status="50[23]"/.test(page);
  await seen(calm, api, isFailing, 'TollgateManyErrors', 'TollgateErrorBudget', 'TollgateChannelFailing');
  const isAlarmed = (page: string) =>
    /tollgate_channel_state\{[^}]*state="alarm"\} 1/.test(page) && page.includes('tollgate_alarms_total{');
  for (const model of ['gpt-5-mini', 'gpt-5']) await chat(`no account ${model} [[fail=auth]]`);
  await seen(calm, api, isAlarmed, 'TollgateChannelAlarm');
  // A test gateway has had the alarm of its open egress since its start.
  const quiet = { ...calm, page: (calm.page ?? '').replace(/^tollgate_alarms_total\{.*$/gm, '') };
  await seen(quiet, api, isAlarmed, 'TollgateAlarm');
  await seen(calm, api, (page) => /tollgate_channel_up\{[^}]*\} 0/.test(page), 'TollgateChannelDown');
}

async function processIsSlow({ broken, api, calmApi, chat, seen }: Drill): Promise<void> {
  const isSlow = has('nodejs_eventloop_lag_p99_seconds', {}, 0.5);
  // The machine may have stood still right before.
  const calm = await eventually(async () => {
    const scraped = await calmApi();
    return !isSlow(scraped.page ?? '') && scraped;
  });
  await gateway.database.transaction('begin', async (query) => {
    await query('', 'select from credit_account where project_id = $1 for update', [project.projectId]);
    // A chat waits for two seconds, in which no scrape may come.
    const scrapeBesideChats = () => {
      void Promise.allSettled([1, 2, 3].map((n) => chat(`waits for a connection ${n}`)));
      return api();
    };
    const isWaiting = has('tollgate_database_connections', { state: 'waiting' });
    await seen(calm, scrapeBesideChats, isWaiting, 'TollgatePoolExhausted');
  });
  // The whole fault: the process stands still for longer than half a second.
  const standStill = async () => {
    await api();
    await gateway.kill(broken.name, 'SIGSTOP');
    await pause(1_000);
    await gateway.kill(broken.name, 'SIGCONT');
    return api();
  };
  await seen(calm, standStill, isSlow, 'TollgateEventLoopSlow');
}

/** A job is parked, a callback fails and an outcome is unknown before the workers go. */
async function workersGo({ worker, seen, faults }: Drill): Promise<void> {
  const { apiKey } = project;
  const create = (route: string, body: object) => gateway.accept(apiKey, route, body);
  const calm = await worker();
  const healthPort = await chooseOwnPort();
  const temporal = await startCuttingProxy(Number(gateway.temporal.address.split(':').at(-1)));
  const url = `http://127.0.0.1:${healthPort}/metrics`;
  await gateway.startWorker({
    WORKER_HEALTH_PORT: String(healthPort),
    TEMPORAL_ADDRESS: `127.0.0.1:${temporal.port}`,
    POLL_INLINE_SECONDS: '1',
  });
  await gateway.kill('worker-1');
  faults.push({ alert: 'TollgateWorkerDown', before: [calm], during: [await worker()] });
  const before = await worker(url);
  await create(mediaRoutes.video, { model: 'kling-2.5-turbo', prompt: 'a parked fox [[latency=600000]]' });
  await create(mediaRoutes.image, {
    model: 'aurora-image-1',
    prompt: 'a lost fox [[fail=malformed]]',
    callback_url: `http://127.0.0.1:${await chooseOwnPort()}/`,
  });
  await seen(
    before,
    () => worker(url),
    has('tollgate_tasks_ended_total', { error_code: 'upstream_outcome_unknown' }),
    'TollgateOutcomeUnknown',
  );
  await eventually(
    async () => {
      const rows = await gateway.database.query(
        '',
        `select 1 from attempt, delivery where next_poll_at is not null and delivery.ended_at is null`,
      );
      return rows.length > 0;
    },
    { what: 'a parked job and a callback that waits' },
  );
  const calls = await worker(url);
  const resume = temporal.cutOff();
  await seen(calls, () => worker(url), has('temporal_request_failure_total', {}), 'TollgateTemporalFailing');
  resume();
  await gateway.kill('worker-2');
  await temporal.close();
}

/** As if the workers had been gone for ten minutes. */
async function queuesStand({ broken, api, calmApi, chat, seen }: Drill): Promise<void> {
  const { database } = gateway;
  const calm = await calmApi();
  const options = { baseUrl: broken.baseUrl };
  await gateway.accept(
    project.apiKey,
    mediaRoutes.image,
    { model: 'aurora-image-1', prompt: 'a fox that waits' },
    options,
  );
  void chat('a chat whose hold expires [[latency=60000]]').catch(() => null);
  await eventually(async () => (await database.query('', `select 1 from hold where kind = 'chat'`)).length === 1);
  for (const late of [
    `update task set created_at = created_at - interval '10 minutes', deadline_at = clock_timestamp() - interval '10 minutes'
     where completed_at is null and workflow_started_at is null`,
    `update hold set expires_at = clock_timestamp() - interval '10 minutes' where kind = 'chat'`,
    `update attempt set next_poll_at = clock_timestamp() - interval '10 minutes' where next_poll_at is not null`,
    `update delivery set next_attempt_at = clock_timestamp() - interval '10 minutes' where ended_at is null`,
    `update job_run set requested_at = requested_at - interval '10 minutes'`,
    `insert into job_run (id, name, trigger, state, requested_at, ended_at, lease_until)
     select 'run_drill', 'check-balances', 'loop', 'succeeded', at, at, at from (select clock_timestamp() - interval '10 minutes' as at) long_ago`,
    `update installation set last_backup_at = clock_timestamp() - interval '2 days'`,
    `insert into restore_mark (restored_through) values (clock_timestamp())`,
  ])
    await database.query('', late);
  const queues = {
    TollgateTasksNotStarted: 'unstarted_tasks',
    TollgateTasksStale: 'stale_tasks',
    TollgateChatsNotRefunded: 'expired_chats',
    TollgatePollsLate: 'polls',
    TollgateCallbacksLate: 'deliveries',
  };
  for (const [alert, queue] of Object.entries(queues)) {
    await seen(calm, api, has('tollgate_queue_age_seconds', { queue }, 300), alert);
  }
  await seen(calm, api, has('tollgate_backup_age_seconds', {}, 100_000), 'TollgateBackupOld');
  await seen(calm, api, has('tollgate_restored', {}), 'TollgateRestored');
  const deps = { db: database, config: testConfig(gateway.env) };
  const shown = async () => {
    const { alarms } = await readOverview(deps);
    return new Set(alarms.flatMap(({ name, also }) => [name, ...also.map((raised) => raised.name)]));
  };
  const lasting = [
    'restored',
    'tasks_not_started',
    'tasks_stale',
    'chats_not_refunded',
    'polls_late',
    'late_callbacks',
    'backup_old',
  ];
  expect([...(await shown())]).toEqual(expect.arrayContaining([...lasting, 'outcome_unknown', 'account']));
  await database.query('', 'update restore_mark set released_at = clock_timestamp()');
  await database.query('', 'update installation set last_backup_at = null');
  expect([...(await shown())]).toEqual(expect.arrayContaining(['worker_away']));
}

async function databaseGoes({ broken, database, api, calmApi, chat, seen }: Drill): Promise<void> {
  const calm = await calmApi();
  const answered = chat('a chat whose settlement is lost [[latency=500]]');
  const resumeSettling = database.cutOffBefore('finish_chats');
  expect((await answered).status).toBe(503);
  resumeSettling();
  await seen(calm, api, has('tollgate_chats_undelivered_total', {}), 'TollgateChatsUndelivered');
  const resume = database.cutOff();
  await seen(calm, api, isZero('tollgate_database_up'), 'TollgateDatabaseDown');
  const body = { model: 'aurora-image-1', prompt: 'a fox that is refused' };
  const refused = await gateway.create(project.apiKey, mediaRoutes.image, body, { baseUrl: broken.baseUrl });
  expect(refused.status).toBe(503);
  const labels = { route: mediaRoutes.image, status: '503' };
  await seen(calm, api, has('tollgate_http_request_duration_seconds_count', labels), 'TollgateCreatesRefused');
  resume();
}

/** A new worker ends what waits, so that the books add up. */
async function apiGoes({ broken, api, calmApi, faults }: Drill): Promise<void> {
  const calm = await calmApi();
  await gateway.kill(broken.name);
  faults.push({ alert: 'TollgateApiDown', before: [calm], during: [await api()] });
  await gateway.database.query('', `update task set deadline_at = clock_timestamp() where completed_at is null`);
  await gateway.startWorker();
  await eventually(async () => (await gateway.database.query('', 'select 1 from hold limit 1')).length === 0, {
    what: 'no hold',
    secondsMax: 200,
  });
}
