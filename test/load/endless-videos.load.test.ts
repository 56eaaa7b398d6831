import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { testConfig } from '../support/test-config.ts';
import { buildDeps } from '../../src/main/build-deps.ts';
import { chooseOwnPort } from '../support/own-port.ts';
import { newTask } from '../db/books.ts';
import { picturesBesideEndlessVideos } from '../fairness/endless-videos.ts';
import { p95 } from '../fairness/other-tenant.ts';
import { mediaRoutes } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, type Gateway, type TestProject } from '../support/gateway.ts';
import { recordMeasurements } from './results.ts';

/** The production defaults. The settings of the other tests poll more often. */
const asInProduction = {
  POLL_INTERVAL_MIN_MS: '500',
  POLL_INTERVAL_MAX_MS: '5000',
  SWEEP_INTERVAL_SECONDS: '20',
  SWEEP_OPEN_SECONDS: '10',
  SWEEP_SILENT_SECONDS: '120',
  ATTEMPT_HEARTBEAT_TIMEOUT_SECONDS: '30',
  SUBMIT_TIMEOUT_SECONDS: '60',
  STARTER_INTERVAL_MS: '200',
  // As in docker-compose.yml. Without it V8 collects less often the more memory the machine has.
  NODE_OPTIONS: '--max-old-space-size=1024',
};

let gateway: Gateway;
let metricsUrl: string;
beforeAll(async () => {
  const port = await chooseOwnPort();
  metricsUrl = `http://127.0.0.1:${port}/metrics`;
  gateway = await startGateway({ env: { ...asInProduction, WORKER_HEALTH_PORT: String(port) } });
});
afterAll(() => gateway.stop());

describe('one worker, at full size', () => {
  it('makes 20 pictures of a project within twice their quiet time beside 2,000 endless videos of another', async () => {
    const { quiet, attacked, holding } = await picturesBesideEndlessVideos(gateway, { videos: 2_000, pictures: 20 });
    await recordMeasurements('2,000 videos that never end', [
      { request: 'picture', quietMs: p95(quiet), attackedMs: p95(attacked) },
    ]);
    expect(holding).toBe(0);
    expect(attacked.filter((ms, index) => ms > 2 * (quiet[index] ?? 0))).toEqual([]);
  });

  it('polls 20,000 videos of 20 projects, ten minutes old, within a second of the time and within 1 GB', async () => {
    const projects = 20;
    for (let n = 0; n < projects; n++)
      await addOldVideos(await gateway.project({ credits: 100_000 }), videosPerProject);
    // The others have no workflow. Their jobs are polled all the same.
    await gateway.database.query(
      '',
      `update task set workflow_started_at = clock_timestamp() where workflow_started_at is null and completed_at is null
         and id not in (select id from task where workflow_started_at is null and completed_at is null limit $1)`,
      [withWorkflow],
    );
    say(`20,000 videos are written, ${withWorkflow} of them with a workflow`);
    await eventually(
      async () =>
        !(await gateway.database.returnsRow(
          '',
          `select 1 from attempt a join task t on t.id = a.request_id
           where a.outcome is null and (a.next_poll_at is null or t.workflow_started_at is null) limit 1`,
          [],
        )),
      { secondsMax: 4_800, what: 'workflows that have parked their jobs again' },
    );
    // All of them are due once in this time.
    await sleep(65_000);
    const before = await polls();
    await sleep(120_000);
    const after = await polls();
    const made = after.total - before.total;
    const late = after.late - before.late;
    const peak = peakBytes(gateway.pids()['worker-1'] ?? 0);
    say(
      `polls in 120 s: ${made}, later than a second: ${late}; peak memory of the worker ${Math.round(peak / 1e6)} MB`,
    );
    expect(made).toBeGreaterThan(0.9 * 2 * projects * videosPerProject);
    expect(late).toBeLessThan(0.01 * made);
    expect(peak).toBeLessThan(1e9);
  }, 5_400_000);
});

const videosPerProject = 1_000;
/** How many of the 20,000 tasks get a real workflow: two cores start about 1,000 in a minute. */
const withWorkflow = Number(process.env['LOAD_WORKFLOWS'] ?? 20_000);

/** Writes running tasks, each with an endless job that the upstream accepted ten minutes ago, and no workflow yet. */
async function addOldVideos(project: TestProject, count: number): Promise<void> {
  const { snapshot, operation: providerRef, channelId, channelName } = await endlessProviderJob();
  const { deps, close } = await buildDeps(testConfig({ ...gateway.env, LOG_LEVEL: 'silent' }), 'load');
  try {
    const tasks = Array.from({ length: count }, () =>
      newTask(project, 1, { type: 'video', modelId: 'kling-2.5-turbo', snapshot, deadlineSeconds: 3_600 }),
    );
    await Promise.all(tasks.map((task) => deps.ledger.createTask(task)));
    await Promise.all(tasks.map(({ taskId }) => deps.ledger.reserveTask(taskId, false)));
    await gateway.database.query(
      '',
      `insert into attempt (id, request_id, n, channel_id, channel_name, fence, submit_deadline, submitted_at, operation, project_id, next_poll_at)
       select 'att_' || id, id, 1, $2, $3, 'fence', clock_timestamp(), clock_timestamp() - interval '10 minutes', $4, project_id,
              clock_timestamp() + interval '60 s' * random() from unnest($1::text[]) task_id join task on task.id = task_id`,
      [tasks.map(({ taskId }) => taskId), channelId, channelName, JSON.stringify(providerRef)],
    );
    await gateway.database.query(
      '',
      `update task set status = 'processing', attempts = 1, started_at = clock_timestamp() where id = any ($1)`,
      [tasks.map(({ taskId }) => taskId)],
    );
  } finally {
    await close();
  }
}

interface EndlessProviderJob {
  snapshot: ReturnType<typeof newTask>['snapshot'];
  operation: object;
  channelId: string;
  channelName: string;
}
let cached: EndlessProviderJob | undefined;

/** A job that the sandbox never finishes. All videos share it, because the sandbox keeps no jobs. */
async function endlessProviderJob(): Promise<EndlessProviderJob> {
  if (cached) return cached;
  const { apiKey } = await gateway.project({ credits: 100 });
  const body = { model: 'kling-2.5-turbo', prompt: 'a dancer [[fail=never]]' };
  const taskId = await gateway.accept(apiKey, mediaRoutes.video, body);
  cached = await eventually(() =>
    gateway.database.first<EndlessProviderJob>(
      '',
      `select t.snapshot, a.operation, a.channel_id, a.channel_name from task t join attempt a on a.request_id = t.id
       where t.id = $1 and a.operation is not null`,
      [taskId],
    ),
  );
  return cached;
}

async function polls(): Promise<{ total: number; late: number }> {
  const text = await (await fetch(metricsUrl)).text();
  const read = (name: string): number => Number(new RegExp(`^tollgate_${name} (\\d+)$`, 'm').exec(text)?.[1] ?? NaN);
  return { total: read('polls_total'), late: read('polls_late_total') };
}

const peakBytes = (pid: number): number =>
  Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? NaN) * 1_024;

const say = (text: string): void => void process.stdout.write(`${text}\n`);
