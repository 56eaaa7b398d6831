import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { testConfig } from '../support/test-config.ts';
import { scheduleIdOf } from '../../src/domain/tasks/scheduled-job.ts';
import { type CrashPoint, crashPoints } from '../../src/platform/crash-point.ts';
import { quickCallbacks, type Receiver, startReceiver, verified } from '../services/callbacks/receiver.ts';
import { chat, chatFacts, chatRoute, requestIdOf, tenCredits, usageOfFive } from '../services/chat/chats.ts';
import { runsOf } from '../services/scheduled-jobs/scheduler.ts';
import { type Answer, mediaRoutes } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { type Gateway, startGateway, type TestProject } from '../support/gateway.ts';
import { accountOf, attemptsOf, entriesOf } from '../support/rows.ts';
import { countAttempts, endsOf, imageCredits, tryCreate } from './crowd.ts';
import { type Crash, type CrashSite, request, type Seen, startCredits } from './crash-record.ts';

let gateway: Gateway;
let receiver: Receiver;
const crashes = new Map<CrashSite, Crash>();

beforeAll(async () => {
  receiver = await startReceiver();
  gateway = await startGateway({
    temporalClient: true,
    workers: 0,
    env: {
      ...quickCallbacks,
      SWEEP_OPEN_SECONDS: '1',
      ATTEMPT_HEARTBEAT_TIMEOUT_SECONDS: '3',
      CHAT_DEADLINE_SECONDS: '15',
      CHAT_HOLD_EXTRA_SECONDS: '1',
      CHAT_ATTEMPT_LEFT_MIN_SECONDS: '1',
    },
  });
  await killApis();
  await killWorkers();
}, 600_000);
afterAll(async () => {
  await gateway?.stop();
  await receiver?.close();
});
afterEach(async () => expect(await gateway.verifyLedger()).toMatchObject({ ok: true }));

/** Crashes one API server at each point. Another API server keeps running, and no worker has started yet. */
async function killApis(): Promise<void> {
  const [plain, direct, committed, started, chatting] = await Promise.all([
    gateway.startApi(),
    // This API server calls reserve_tasks itself and does not wait for the workflow.
    gateway.startApi({ CREATE_WAIT_MS: '0' }),
    gateway.startApi({ CRASH_POINT: 'after_commit_before_start' }),
    gateway.startApi({ CRASH_POINT: 'after_start_before_reply' }),
    gateway.startApi({ CRASH_POINT: 'chat_after_upstream_before_settle' }),
  ]);
  const createAt = async (
    site: CrashSite,
    api: { name: string; baseUrl: string },
    killed: (create: () => Promise<void>) => Promise<void> = (create) => create(),
  ): Promise<void> => {
    const project = await gateway.project({ credits: startCredits });
    await killed(async () =>
      expect(await tryCreate(gateway, project.apiKey, { ...request(site), baseUrl: api.baseUrl })).toBeNull(),
    );
    await recordCrash(site, api.name, project);
  };
  await createAt('after_idem_insert', plain, (create) =>
    killedBefore({ action: 'create_tasks', table: 'task' }, plain.name, create),
  );
  await createAt('after_hold_before_commit', direct, (create) =>
    killedBefore({ action: 'reserve_tasks', table: 'hold' }, direct.name, create),
  );
  await createAt('after_commit_before_start', committed);
  await createAt('after_start_before_reply', started);
  const chatter = await gateway.project({ credits: startCredits });
  expect(await sendChat(chatter, chatting.baseUrl).catch(() => null)).toBeNull();
  await recordCrash('chat_after_upstream_before_settle', chatting.name, chatter);
}

/**
 * Crashes one worker after the other. Each new worker also continues the work of the crashed one. To keep a worker from
 * reaching its crash point with an older task, tasks that are left unfinished end before the points at the end of a task
 * are armed, and the remaining points go from the last step of a task to its first.
 */
async function killWorkers(): Promise<void> {
  // Each task ends in its own commit, so that the crash can happen between two of them.
  const stale = await armed('mid_stale_batch', { CREATE_BATCH_MAX: '1' });
  // The tasks of the crashed API servers must not reach later crash points.
  for (const { project } of crashes.values()) await endsOf(gateway, project.projectId);
  const staleProject = await gateway.project({ credits: startCredits });
  for (let n = 0; n < staleTasks; n++) await accept(staleProject, `mid_stale_batch ${n} [[fail=never]]`);
  await eventually(
    async () => (await countAttempts(gateway, staleProject.projectId, 'a.operation is not null')) === staleTasks,
    { what: 'the jobs of the stale tasks' },
  );
  const filesProject = await gateway.project({ credits: startCredits });
  const filesTaskId = await accept(filesProject, `mid_retention_delete [[outputs=${expiredFiles}]]`);
  await gateway.poll(filesProject.apiKey, filesTaskId);
  // A worker repeats an activity that Temporal has not recorded, and would reach a crash point with it.
  await eventually(async () => (await workflow(filesTaskId).describe()).status.name === 'COMPLETED');
  await sql(`update task set deadline_at = clock_timestamp() - interval '1 s' where project_id = $1`, [
    staleProject.projectId,
  ]);
  await recordCrash('mid_stale_batch', stale, staleProject);

  // Temporal repeats the attempt after its heartbeat timeout. This crash comes first, so that no later worker crashes at the repetition.
  await crashAt('after_result_before_finish_tx');

  const retention = await armed('mid_retention_delete:3');
  await endsOf(gateway, staleProject.projectId);
  await endsOf(gateway, crashOf('after_result_before_finish_tx').project.projectId);
  const expired = await sql<{ storageKey: string }>(
    `update file set expires_at = clock_timestamp() - interval '1 s' where project_id = $1 returning storage_key`,
    [filesProject.projectId],
  );
  expiredKeys = expired.map(({ storageKey }) => storageKey);
  // The endpoint would run the job in the API server if no worker starts it in time.
  await gateway.temporal.client.schedule.getHandle(scheduleIdOf('scheduled-maintenance')).trigger();
  await recordCrash('mid_retention_delete', retention, filesProject);
  expiredBytesLeft = expiredBytes();

  await crashAt('after_callback_send_before_mark', { callback: true });
  await crashAt('after_finish_commit_before_ack', { callback: true });
  const { name } = await gateway.startWorker();
  const finishing = await gateway.project({ credits: startCredits });
  // The row of the callback is the last one that finish_attempts writes.
  await killedBefore({ action: 'finish_attempts', table: 'delivery' }, name, async () => {
    await accept(finishing, 'in_finish_before_commit', { callback_url: receiver.at('in_finish_before_commit') });
  });
  await recordCrash('in_finish_before_commit', name, finishing);
  await crashAt('mid_poll:2', { prompt: 'mid_poll [[latency=30000]]' });
  await onlyChannelsOf('kling');
  await crashAt('after_upstream_accept_before_save', {
    site: 'after_upstream_accept_before_save, with lookup',
    prompt: 'the same with lookup',
    model: 'kling-2.5-turbo',
  });
  await onlyChannelsOf(null);
  await crashAt('after_upstream_accept_before_save');
  await crashAt('after_attempt_row');
  // The crashed workers can send nothing any more, so the test skips the wait for the submit deadline.
  await sql('update attempt set submit_deadline = clock_timestamp() where operation is null and outcome is null');
  await gateway.startWorker();
}

/** One stale task has ended when its worker crashes. One and a half batches of the expired files are deleted. */
const staleTasks = 3;
const expiredFiles = 5;
let expiredKeys: string[] = [];
let expiredBytesLeft = 0;
const expiredBytes = (): number =>
  expiredKeys.filter((key) => existsSync(join(gateway.env['FILES_LOCAL_DIR'] ?? '', key))).length;

const armed = async (setting: string, own: Record<string, string> = {}): Promise<string> =>
  (await gateway.startWorker({ CRASH_POINT: setting, ...own })).name;

/** Starts a worker that crashes at the point while it runs one task. */
async function crashAt(
  setting: CrashPoint | `${CrashPoint}:${number}`,
  options: { site?: CrashSite; prompt?: string; callback?: boolean; model?: string } = {},
): Promise<void> {
  const point = crashPoints.find((name) => setting.startsWith(name))!;
  const { site = point, prompt = point, callback = false, model } = options;
  const name = await armed(setting);
  const project = await gateway.project({ credits: startCredits });
  await accept(project, prompt, {
    ...(model !== undefined && { model }),
    ...(callback && { callback_url: receiver.at(point) }),
  });
  await recordCrash(site, name, project, prompt);
}

const accept = (project: TestProject, prompt: string, fields: Record<string, unknown> = {}): Promise<string> =>
  gateway.accept(project.apiKey, fields['model'] === undefined ? mediaRoutes.image : mediaRoutes.video, {
    model: 'aurora-image-1',
    prompt,
    ...fields,
  });

/** Waits for the crash and records the state that it left. */
async function recordCrash(site: CrashSite, name: string, project: TestProject, prompt: string = site): Promise<void> {
  const how = await Promise.race([
    gateway.exited(name),
    new Promise<string>((resolve) => setTimeout(resolve, 120_000, 'it still runs').unref()),
  ]);
  const [task] = await sql<{ id: string }>('select id from task where project_id = $1 order by id limit 1', [
    project.projectId,
  ]);
  const taskId = task?.id ?? '';
  crashes.set(site, {
    project,
    taskId,
    how,
    seen: await stateOf(project),
    submits: (await gateway.hits(prompt, 'submit')).length,
    polls: (await gateway.hits(prompt, 'poll')).length,
    calls: receiver.calls(site).length,
    books: await gateway.verifyLedger(),
  });
}

function crashOf(site: CrashSite): Crash {
  const crash = crashes.get(site);
  if (!crash) throw new Error(`No process crashed at ${site}`);
  expect([site, crash.how]).toEqual([site, 'SIGKILL']);
  expect([site, crash.books]).toMatchObject([site, { ok: true }]);
  return crash;
}

/**
 * Lets the SQL function that `drive` causes stand still before it writes the table. Kills the calling process and then
 * its database session, because PostgreSQL would otherwise complete the function. Sleeps, because a wait for a lock ends after two seconds.
 */
async function killedBefore(
  { action, table }: { action: string; table: string },
  name: string,
  drive: () => Promise<void>,
): Promise<void> {
  await sql(
    `create function stand_still() returns trigger language plpgsql as $$ begin perform pg_sleep(600); return new; end $$`,
  );
  await sql(`create trigger stand_still before insert on ${table} for each row execute function stand_still()`);
  const driven = drive();
  // This promise is awaited below.
  driven.catch(() => undefined);
  try {
    const { pid } = await eventually(
      async () => {
        const [sleeping] = await sql<{ pid: number }>(
          `select pid from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database() and query like $1`,
          [`%from ${action}(%`],
        );
        return sleeping;
      },
      { what: `a session of ${action} that writes ${table}` },
    );
    await gateway.kill(name);
    await sql('select pg_terminate_backend($1, 60000)', [pid]);
  } finally {
    await sql('drop function stand_still cascade');
  }
  await driven;
}

async function stateOf({ projectId }: TestProject): Promise<Seen> {
  const [seen] = await sql<Seen>(
    `select (select count(*)::int from idempotency where project_id = $1) as keys, count(t)::int as tasks,
       count(t.completed_at)::int as ended, min(t.admission) as admission, min(t.status) as status,
       bool_or(t.workflow_started_at is not null) as started,
       (select min(state) from reservation where project_id = $1) as money,
       (select reserved::int from credit_account where project_id = $1) as reserved,
       (select count(*)::int from attempt a join task x on x.id = a.request_id where x.project_id = $1) as attempts,
       (select count(a.operation)::int from attempt a join task x on x.id = a.request_id where x.project_id = $1) as operations,
       (select min(a.outcome) from attempt a join task x on x.id = a.request_id where x.project_id = $1) as outcome,
       (select min(state) from delivery where project_id = $1) as delivery,
       (select min(attempts) from delivery where project_id = $1) as tries,
       (select count(*)::int from file where project_id = $1) as files
     from task t where t.project_id = $1`,
    [projectId],
  );
  if (!seen) throw new Error('The query returned no row');
  return seen;
}

/** Repeats the create with the same Idempotency-Key at a running API server, as a client without an answer does. */
async function retryCreate(site: CrashSite): Promise<Answer> {
  const answer = await tryCreate(gateway, crashOf(site).project.apiKey, request(site));
  if (answer?.status !== 202)
    throw new Error(`The create was not accepted: ${answer?.status} ${JSON.stringify(answer?.body)}`);
  return answer;
}

const succeeded = { status: 'succeeded', errorCode: null };
const outcomeUnknown = { status: 'failed', errorCode: 'upstream_outcome_unknown' };

/** Expects that the project has one task with this end and number of submits, charged once if it succeeded, else refunded. */
async function expectOneTask(
  site: CrashSite,
  {
    end,
    submits = 1,
    prompt = site,
    credits = imageCredits,
  }: { end: typeof succeeded | typeof outcomeUnknown; submits?: number; prompt?: string; credits?: number },
): Promise<string> {
  const { projectId } = crashOf(site).project;
  const ends = await endsOf(gateway, projectId);
  expect(ends).toHaveLength(1);
  const [task] = ends;
  const isPaid = end === succeeded;
  expect(task).toMatchObject({ ...end, creditsCharged: isPaid ? credits : 0, creditsRefunded: isPaid ? 0 : credits });
  expect(await gateway.hits(prompt, 'submit')).toHaveLength(submits);
  expect(await entriesOf(gateway.database, task?.id ?? '')).toEqual({ [isPaid ? 'settle' : 'refund']: 1 });
  expect(await accountOf(gateway.database, projectId)).toEqual({
    balance: startCredits - (isPaid ? credits : 0),
    reserved: 0,
  });
  return task?.id ?? '';
}

/** Expects this number of calls before the crash and more after it, all with the same id and bytes, counted as one try. */
async function expectDelivered(site: CrashSite, before: number): Promise<void> {
  const { project, taskId, calls } = crashOf(site);
  expect(calls).toBe(before);
  const { callback } = await gateway.poll(project.apiKey, taskId, {
    until: ({ callback: current }) => current?.state === 'delivered',
  });
  expect(callback).toMatchObject({ state: 'delivered', attempts: 1 });
  const received = receiver.calls(site);
  // A later crash may also happen between a call and its count.
  expect(received.length).toBeGreaterThan(before);
  expect(new Set(received.map(({ headers, body }) => `${headers['webhook-id']} ${body}`)).size).toBe(1);
  for (const call of received) expect(verified(call, project.webhookSecret).data.task_id).toBe(taskId);
}

describe('an API server that is killed', () => {
  it('between the idempotency row and its task leaves neither, and the key creates one task later', async () => {
    expect(crashOf('after_idem_insert').seen).toMatchObject({ keys: 0, tasks: 0, reserved: 0 });
    const first = await retryCreate('after_idem_insert');
    expect((await retryCreate('after_idem_insert')).taskId).toBe(first.taskId);
    expect(await expectOneTask('after_idem_insert', { end: succeeded })).toBe(first.taskId);
  });

  it('between a hold and its commit leaves a task without a hold, and a retry holds the credits once', async () => {
    const { seen, taskId } = crashOf('after_hold_before_commit');
    expect(seen).toMatchObject({ keys: 1, tasks: 1, admission: 'open', money: null, reserved: 0 });
    expect((await retryCreate('after_hold_before_commit')).taskId).toBe(taskId);
    await expectOneTask('after_hold_before_commit', { end: succeeded });
  });

  it('between its commit and the start of the workflow leaves a task that a sweep starts without a retry', async () => {
    const { seen, taskId } = crashOf('after_commit_before_start');
    expect(seen).toMatchObject({ keys: 1, tasks: 1, admission: 'open', started: false, money: null, reserved: 0 });
    await expectOneTask('after_commit_before_start', { end: succeeded });
    const again = await retryCreate('after_commit_before_start');
    expect([again.taskId, again.headers.get('idempotent-replayed')]).toEqual([taskId, 'true']);
    await expectOneTask('after_commit_before_start', { end: succeeded });
  });

  it('between the verdict and the reply leaves a task that a retry returns, with one hold', async () => {
    const { seen, taskId } = crashOf('after_start_before_reply');
    expect(seen).toMatchObject({ keys: 1, tasks: 1, admission: 'reserved', money: 'held', reserved: imageCredits });
    expect((await retryCreate('after_start_before_reply')).taskId).toBe(taskId);
    await expectOneTask('after_start_before_reply', { end: succeeded });
  });

  it('between the answer of a chat and its settlement refunds that chat, and charges the retry with the same key once', async () => {
    const { seen, project } = crashOf('chat_after_upstream_before_settle');
    expect(seen).toMatchObject({ keys: 1, money: 'held', reserved: 10 });
    const answer = await eventually(
      async () => {
        const reply = await sendChat(project, gateway.baseUrl);
        if (reply.status !== 200) expect(reply.status).toBe(409);
        return reply.status === 200 && reply;
      },
      { secondsMax: 90 },
    );
    expect(await chatFacts(gateway, requestIdOf(answer))).toMatchObject({ state: 'settled', settledAmount: 5 });
    expect(await gateway.hits('chat_after_upstream_before_settle', 'chat')).toHaveLength(2);
    expect(await accountOf(gateway.database, project.projectId)).toEqual({ balance: startCredits - 5, reserved: 0 });
    const holds = await sql('select state from reservation where project_id = $1 order by created_at', [
      project.projectId,
    ]);
    expect(holds).toEqual([{ state: 'refunded' }, { state: 'settled' }]);
  });
});

describe('a worker that is killed', () => {
  it('between the attempt row and its submit ends the task with an unknown outcome and a refund, without a submit', async () => {
    const { seen, taskId, submits } = crashOf('after_attempt_row');
    expect(submits).toBe(0);
    expect(seen).toMatchObject({ attempts: 1, operations: 0, outcome: null, money: 'held' });
    await expectOneTask('after_attempt_row', { end: outcomeUnknown, submits: 0 });
    expect(await attemptsOf(gateway.database, taskId)).toMatchObject([{ outcome: 'unknown' }]);
  });

  it('between the submit and saving the job id never submits again, and refunds, if the provider has no lookup', async () => {
    const site = 'after_upstream_accept_before_save';
    const { seen, taskId, submits } = crashOf(site);
    expect(submits).toBe(1);
    expect(seen).toMatchObject({ attempts: 1, operations: 0, outcome: null, money: 'held' });
    await expectOneTask(site, { end: outcomeUnknown });
    expect(await attemptsOf(gateway.database, taskId)).toMatchObject([{ outcome: 'unknown' }]);
  });

  it('between the submit and saving the job id finds the job by its idempotency key if the provider has a lookup', async () => {
    const site = 'after_upstream_accept_before_save, with lookup';
    const { seen, project, submits } = crashOf(site);
    expect(submits).toBe(1);
    expect(seen).toMatchObject({ attempts: 1, operations: 0, outcome: null, money: 'held' });
    await expectOneTask(site, { end: succeeded, prompt: 'the same with lookup', credits: seen.reserved });
    expect(await stateOf(project)).toMatchObject({ attempts: 1, operations: 1, outcome: 'ok' });
  });

  it('between two polls leaves the job to the next worker, which continues to poll the job', async () => {
    const { seen, project, submits, polls } = crashOf('mid_poll');
    // The worker crashes at the second poll.
    expect([submits, polls]).toEqual([1, 2]);
    expect(seen).toMatchObject({ attempts: 1, operations: 1, outcome: null, money: 'held' });
    await expectOneTask('mid_poll', { end: succeeded });
    expect(await stateOf(project)).toMatchObject({ attempts: 1, operations: 1, outcome: 'ok' });
  });

  it('between the result and the end of the task leaves a result that the next worker charges once', async () => {
    const { seen } = crashOf('after_result_before_finish_tx');
    expect(seen).toMatchObject({ attempts: 1, operations: 1, outcome: null, files: 1, ended: 0, money: 'held' });
    await expectOneTask('after_result_before_finish_tx', { end: succeeded });
  });

  it('before finish_attempts commits leaves attempt and task unfinished, and the next worker ends and settles the task once', async () => {
    const { seen } = crashOf('in_finish_before_commit');
    expect(seen).toMatchObject({ outcome: null, ended: 0, money: 'held', reserved: imageCredits, delivery: null });
    await expectOneTask('in_finish_before_commit', { end: succeeded });
    await expectDelivered('in_finish_before_commit', 0);
  });

  it('between the end of a task and its acknowledgement keeps that end, and the callback is delivered', async () => {
    const { seen } = crashOf('after_finish_commit_before_ack');
    expect(seen).toMatchObject({ ended: 1, status: 'succeeded', money: 'settled', delivery: 'pending', tries: 0 });
    await expectOneTask('after_finish_commit_before_ack', { end: succeeded });
    await expectDelivered('after_finish_commit_before_ack', 0);
  });

  it('between a callback and its count sends the callback again under the same id and changes nothing else', async () => {
    const { seen } = crashOf('after_callback_send_before_mark');
    expect(seen).toMatchObject({ ended: 1, status: 'succeeded', delivery: 'pending', tries: 0 });
    await expectOneTask('after_callback_send_before_mark', { end: succeeded });
    await expectDelivered('after_callback_send_before_mark', 1);
  });

  it('in the middle of a batch of stale tasks leaves the remaining tasks to the next run, which refunds each once', async () => {
    const { seen, project } = crashOf('mid_stale_batch');
    expect(seen).toMatchObject({ tasks: staleTasks, ended: 1, reserved: (staleTasks - 1) * imageCredits });
    const ends = await endsOf(gateway, project.projectId);
    expect(ends).toHaveLength(staleTasks);
    for (const end of ends) {
      expect(end).toMatchObject({ status: 'failed', errorCode: 'task_timeout', creditsRefunded: imageCredits });
      expect(await entriesOf(gateway.database, end.id)).toEqual({ refund: 1 });
    }
    expect(await gateway.hits('mid_stale_batch', 'submit')).toHaveLength(staleTasks);
    expect(await accountOf(gateway.database, project.projectId)).toEqual({ balance: startCredits, reserved: 0 });
  });

  it('in the middle of retention keeps the row of every file that may still exist, and the next run deletes them all', async () => {
    const { seen, project } = crashOf('mid_retention_delete');
    // At least three files are deleted, and all rows remain, because their batch was not over.
    expect(seen).toMatchObject({ files: expiredFiles, ended: 1, money: 'settled' });
    expect(expiredBytesLeft).toBeLessThanOrEqual(expiredFiles - 3);
    await eventually(
      async () => (await runsOf(gateway, 'scheduled-maintenance')).some(({ state }) => state === 'succeeded'),
      { secondsMax: 90, what: 'the end of another run' },
    );
    expect(await stateOf(project)).toMatchObject({ files: 0, ended: 1, money: 'settled' });
    expect(expiredBytes()).toBe(0);
  });
});

describe('a crash point', () => {
  it('is covered by a test of this file', () => {
    expect([...crashes.keys()]).toEqual(expect.arrayContaining([...crashPoints]));
  });

  it('is refused at startup if its name is unknown or if no sandbox is configured, as in production', () => {
    const { SANDBOX_URL: _sandbox, EGRESS_ALLOW_CIDRS: _ranges, ...production } = gateway.env;
    for (const CRASH_POINT of ['mid_pole', 'mid_poll:0', 'mid_poll:x']) {
      expect(() => testConfig({ ...gateway.env, CRASH_POINT })).toThrow('CRASH_POINT must be name or name:n');
    }
    expect(() => testConfig({ ...production, CRASH_POINT: 'mid_poll' })).toThrow('CRASH_POINT is for development only');
    expect(testConfig(production).development.crashPoint).toBeNull();
    expect(testConfig({ ...gateway.env, CRASH_POINT: 'mid_poll:2' }).development.crashPoint).toEqual({
      name: 'mid_poll',
      passing: 2,
    });
  });
});

const sendChat = (project: TestProject, baseUrl: string): Promise<Answer> =>
  chat(gateway, project.apiKey, `chat_after_upstream_before_settle [[${usageOfFive}]]`, {
    fields: tenCredits,
    baseUrl,
    headers: { 'idempotency-key': `key of ${chatRoute}` },
  });

const workflow = (taskId: string) => gateway.temporal.client.workflow.getHandle(taskId);

/** Disables the channels of all other provider families, or enables all channels. */
const onlyChannelsOf = (family: string | null): Promise<unknown> =>
  sql('update channel set enabled = ($1::text is null or adapter = $1)', [family]);

const sql = <Row extends Record<string, unknown>>(text: string, values: unknown[] = []): Promise<Row[]> =>
  gateway.database.query<Row>('', text, values);
