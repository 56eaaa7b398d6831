import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../../src/config/load-config.ts';
import { scheduleIdOf } from '../../src/domain/job.ts';
import { crashPoints, type CrashPoint } from '../../src/platform/crash-point.ts';
import { quickCallbacks, startReceiver, verified, type Receiver } from '../commands/callbacks/receiver.ts';
import { chat, chatFacts, chatRoute, requestIdOf, tenCredits, usageOfFive } from '../commands/chat/chats.ts';
import { runsOf } from '../commands/jobs/scheduler.ts';
import { mediaRoutes, type Answer } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, type Gateway, type TestProject } from '../support/gateway.ts';
import { accountOf, attemptsOf, entriesOf } from '../support/rows.ts';
import { countAttempts, endsOf, imageCredits, tryCreate } from './crowd.ts';

/** Places inside of one SQL function: nothing of ours can die there, so PostgreSQL is held up there and its client killed. */
type InsideSql = 'after_idem_insert' | 'after_hold_before_commit' | 'in_finish_before_commit';
type Place = CrashPoint | InsideSql | 'after_upstream_accept_before_save, with a look-up';

/** One death: who died of what, and what was written when it happened. */
interface Death {
  project: TestProject;
  /** Empty where no task was written, or none is concerned. */
  taskId: string;
  /** How the process ended. */
  how: string;
  seen: Seen;
  /** What the upstream and the receiver had seen of it. */
  submits: number;
  polls: number;
  calls: number;
  books: { ok: boolean };
}

let gateway: Gateway;
let receiver: Receiver;
const deaths = new Map<Place, Death>();
const startCredits = 1_000;

beforeAll(async () => {
  receiver = await startReceiver();
  gateway = await startGateway({
    workers: 0,
    env: {
      ...quickCallbacks,
      SWEEP_OPEN_SECONDS: '1',
      ATTEMPT_HEARTBEAT_TIMEOUT_SECONDS: '3',
      SUBMIT_TIMEOUT_SECONDS: '10',
      CHAT_DEADLINE_SECONDS: '15',
      CHAT_HOLD_EXTRA_SECONDS: '1',
      CHAT_ATTEMPT_LEFT_MIN_SECONDS: '1',
    },
  });
  await killApis();
  await killWorkers();
}, 300_000);
afterAll(async () => {
  await gateway?.stop();
  await receiver?.close();
});
afterEach(async () => expect(await gateway.verifyLedger()).toMatchObject({ ok: true }));

/** Each API dies of its own point; another one is there all the time, and no worker yet. */
async function killApis(): Promise<void> {
  const [plain, direct, committed, started, chatting] = await Promise.all([
    gateway.startApi(),
    // It asks the database itself for the verdict about credits.
    gateway.startApi({ CREATE_WAIT_MS: '0' }),
    gateway.startApi({ CRASH_POINT: 'after_commit_before_start' }),
    gateway.startApi({ CRASH_POINT: 'after_start_before_reply' }),
    gateway.startApi({ CRASH_POINT: 'chat_after_upstream_before_settle' }),
  ]);
  const createAt = async (
    place: Place,
    api: { name: string; baseUrl: string },
    killed: (create: () => Promise<void>) => Promise<void> = (create) => create(),
  ): Promise<void> => {
    const project = await gateway.project({ credits: startCredits });
    await killed(async () =>
      expect(await tryCreate(gateway, project.apiKey, { ...request(place), baseUrl: api.baseUrl })).toBeNull(),
    );
    await died(place, api.name, project);
  };
  await createAt('after_idem_insert', plain, (create) =>
    killedBefore({ verb: 'create_tasks', table: 'task' }, plain.name, create),
  );
  await createAt('after_hold_before_commit', direct, (create) =>
    killedBefore({ verb: 'reserve_tasks', table: 'ledger_entry' }, direct.name, create),
  );
  await createAt('after_commit_before_start', committed);
  await createAt('after_start_before_reply', started);
  const chatter = await gateway.project({ credits: startCredits });
  expect(await sendChat(chatter, chatting.baseUrl).catch(() => null)).toBeNull();
  await died('chat_after_upstream_before_settle', chatting.name, chatter);
}

/**
 * One worker after the other, each started when the one before it has died, which is the other one that goes on with the
 * work of the dead. Nobody passes its own point with the work of another: a task that is left before its end has ended before
 * anybody is to die of an end, and the rest go from the last step of a task to its first.
 */
async function killWorkers(): Promise<void> {
  // One commit for each end, or a batch would have no middle.
  const stale = await armed('mid_stale_batch', { CREATE_BATCH_MAX: '1' });
  // Whatever is still to come of the APIs' tasks would pass later points.
  for (const { project } of deaths.values()) await endsOf(gateway, project.projectId);
  const staleProject = await gateway.project({ credits: startCredits });
  for (let n = 0; n < staleTasks; n++) await accept(staleProject, `mid_stale_batch ${n} [[fail=never]]`);
  await eventually(
    async () => (await countAttempts(gateway, staleProject.projectId, 'a.operation is not null')) === staleTasks,
    { what: 'the jobs of the stale tasks' },
  );
  const filesProject = await gateway.project({ credits: startCredits });
  const filesTaskId = await accept(filesProject, `mid_retention_delete [[outputs=${expiredFiles}]]`);
  await gateway.poll(filesProject.apiKey, filesTaskId);
  // What Temporal has not heard of is done again, and so would be passed again.
  await eventually(async () => (await workflow(filesTaskId).describe()).status.name === 'COMPLETED');
  await sql(`update task set deadline_at = clock_timestamp() - interval '1 s' where project_id = $1`, [
    staleProject.projectId,
  ]);
  await died('mid_stale_batch', stale, staleProject);

  // Its end is told again by whoever lives when Temporal has waited ten seconds for it: first, or others would die of it.
  await dieOf('after_result_before_finish_tx');

  const retention = await armed('mid_retention_delete:3', { MAINTENANCE_BATCH_MAX: '2' });
  await endsOf(gateway, staleProject.projectId);
  await endsOf(gateway, deathOf('after_result_before_finish_tx').project.projectId);
  const expired = await sql<{ storage_key: string }>(
    `update file set expires_at = clock_timestamp() - interval '1 s' where project_id = $1 returning storage_key`,
    [filesProject.projectId],
  );
  expiredKeys = expired.map(({ storage_key }) => storage_key);
  // Not by the endpoint, which runs the job itself when no worker has begun it in time.
  await gateway.temporal.client.schedule.getHandle(scheduleIdOf('scheduled-maintenance')).trigger();
  await died('mid_retention_delete', retention, filesProject);
  expiredBytesLeft = expiredBytes();

  await dieOf('after_callback_send_before_mark', { callback: true });
  await dieOf('after_finish_commit_before_ack', { callback: true });
  const { name } = await gateway.startWorker();
  const finishing = await gateway.project({ credits: startCredits });
  // Its callback's row is the last that the end of a task writes.
  await killedBefore({ verb: 'finish_tasks', table: 'delivery' }, name, async () => {
    await accept(finishing, 'in_finish_before_commit', { callback_url: receiver.at('in_finish_before_commit') });
  });
  await died('in_finish_before_commit', name, finishing);
  await dieOf('mid_poll:2', { prompt: 'mid_poll [[latency=10000]]' });
  await onlyChannelsOf('kling');
  await dieOf('after_upstream_accept_before_save', {
    place: 'after_upstream_accept_before_save, with a look-up',
    prompt: 'the same with a look-up',
    model: 'kling-2.5-turbo',
  });
  await onlyChannelsOf(null);
  await dieOf('after_upstream_accept_before_save');
  await dieOf('after_attempt_row');
  // The dead send nothing any more: nobody has to wait until they could not.
  await sql('update attempt set submit_deadline = clock_timestamp() where operation is null and outcome is null');
  await gateway.startWorker();
}

/** Of which one is over when the worker dies, and whose files one and a half batches are gone. */
const staleTasks = 3;
const expiredFiles = 5;
let expiredKeys: string[] = [];
let expiredBytesLeft = 0;
const expiredBytes = (): number =>
  expiredKeys.filter((key) => existsSync(join(gateway.env['FILES_LOCAL_DIR'] ?? '', key))).length;

const armed = async (setting: string, own: Record<string, string> = {}): Promise<string> =>
  (await gateway.startWorker({ CRASH_POINT: setting, ...own })).name;

/** A worker that dies of a point while it does one task. */
async function dieOf(
  setting: CrashPoint | `${CrashPoint}:${number}`,
  given: { place?: Place; prompt?: string; callback?: boolean; model?: string } = {},
): Promise<void> {
  const point = crashPoints.find((name) => setting.startsWith(name))!;
  const { place = point, prompt = point, callback = false, model } = given;
  const name = await armed(setting);
  const project = await gateway.project({ credits: startCredits });
  await accept(project, prompt, {
    ...(model !== undefined && { model }),
    ...(callback && { callback_url: receiver.at(point) }),
  });
  await died(place, name, project, prompt);
}

const accept = (project: TestProject, prompt: string, fields: Record<string, unknown> = {}): Promise<string> =>
  gateway.accept(project.apiKey, fields['model'] === undefined ? mediaRoutes.image : mediaRoutes.video, {
    model: 'aurora-image-1',
    prompt,
    ...fields,
  });

/** Waits for the death that was asked for, and takes down what it left. */
async function died(place: Place, name: string, project: TestProject, prompt: string = place): Promise<void> {
  const how = await Promise.race([
    gateway.exited(name),
    new Promise<string>((resolve) => setTimeout(resolve, 45_000, 'it lives').unref()),
  ]);
  const [task] = await sql<{ id: string }>('select id from task where project_id = $1 order by id limit 1', [
    project.projectId,
  ]);
  const taskId = task?.id ?? '';
  deaths.set(place, {
    project,
    taskId,
    how,
    seen: await look(project),
    submits: (await gateway.hits(prompt, 'submit')).length,
    polls: (await gateway.hits(prompt, 'poll')).length,
    calls: receiver.calls(place).length,
    books: await gateway.verifyLedger(),
  });
}

function deathOf(place: Place): Death {
  const death = deaths.get(place);
  if (!death) throw new Error(`nobody died at ${place}`);
  expect([place, death.how]).toEqual([place, 'SIGKILL']);
  expect([place, death.books]).toMatchObject([place, { ok: true }]);
  return death;
}

/**
 * Lets PostgreSQL run into a table's closed door in the middle of the verb that `drive` brings about, kills the process that
 * waits for the answer, and then its session: left alone, PostgreSQL would carry the verb to its end, which is another point.
 */
async function killedBefore(
  { verb, table }: { verb: string; table: string },
  name: string,
  drive: () => Promise<void>,
): Promise<void> {
  let driven: Promise<void> | undefined;
  await gateway.database.transaction('begin', async (query) => {
    await query({ name: '', text: `lock table ${table} in share mode` });
    driven = drive();
    // Awaited below, whatever becomes of the lock.
    driven.catch(() => undefined);
    const { pid } = await eventually(
      async () => {
        // PostgreSQL ends a session that does nothing in its transaction for ten seconds.
        await query({ name: '', text: 'select 1' });
        const [waiting] = await sql<{ pid: number }>(
          `select pid from pg_locks l join pg_stat_activity a using (pid)
           where l.relation = $1::regclass and not l.granted and a.datname = current_database() and a.query like $2`,
          [table, `%from ${verb}(%`],
        );
        return waiting;
      },
      { what: `${verb} at the door of ${table}` },
    );
    await gateway.kill(name);
    await query({ name: '', text: 'select pg_terminate_backend($1, 5000)' }, [pid]);
  });
  await driven;
}

/** What is written of a project's requests. */
interface Seen extends Record<string, unknown> {
  keys: number;
  tasks: number;
  ended: number;
  admission: string | null;
  status: string | null;
  /** Whether a workflow works on it. */
  started: boolean | null;
  money: string | null;
  reserved: number;
  attempts: number;
  operations: number;
  outcome: string | null;
  delivery: string | null;
  tries: number | null;
  files: number;
}

async function look({ projectId }: TestProject): Promise<Seen> {
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
  if (!seen) throw new Error('counting answered no row');
  return seen;
}

const request = (place: Place) => ({ prompt: place, key: `key of ${place}` });

/** As a client asks again that got no answer: at an API that lives, with its key. */
async function askAgain(place: Place): Promise<Answer> {
  const answer = await tryCreate(gateway, deathOf(place).project.apiKey, request(place));
  if (answer?.status !== 202) throw new Error(`not accepted: ${answer?.status} ${JSON.stringify(answer?.body)}`);
  return answer;
}

const succeeded = { status: 'succeeded', error_code: null };
const outcomeUnknown = { status: 'failed', error_code: 'upstream_outcome_unknown' };

/** One task, that ended so; bought so often, paid for once or not at all, and nothing else in its project's books. */
async function expectOneTask(
  place: Place,
  {
    end,
    submits = 1,
    prompt = place,
    credits = imageCredits,
  }: { end: typeof succeeded | typeof outcomeUnknown; submits?: number; prompt?: string; credits?: number },
): Promise<string> {
  const { projectId } = deathOf(place).project;
  const ends = await endsOf(gateway, projectId);
  expect(ends).toHaveLength(1);
  const [task] = ends;
  const isPaid = end === succeeded;
  expect(task).toMatchObject({ ...end, credits_charged: isPaid ? credits : 0, credits_refunded: isPaid ? 0 : credits });
  expect(await gateway.hits(prompt, 'submit')).toHaveLength(submits);
  expect(await entriesOf(gateway.database, task?.id ?? '')).toEqual({ hold: 1, [isPaid ? 'settle' : 'refund']: 1 });
  expect(await accountOf(gateway.database, projectId)).toEqual({
    balance: startCredits - (isPaid ? credits : 0),
    reserved: 0,
  });
  return task?.id ?? '';
}

/** The callback was sent so often before the death and again after it, under one id and with equal bytes, and counted once. */
async function expectDelivered(place: Place, before: number): Promise<void> {
  const { project, taskId, calls } = deathOf(place);
  expect(calls).toBe(before);
  const { callback } = await gateway.poll(project.apiKey, taskId, {
    until: ({ callback: told }) => told?.state === 'delivered',
  });
  expect(callback).toMatchObject({ state: 'delivered', attempts: 1 });
  const received = receiver.calls(place);
  // A later death may fall between a call and its count too.
  expect(received.length).toBeGreaterThan(before);
  expect(new Set(received.map(({ headers, body }) => `${headers['webhook-id']} ${body}`)).size).toBe(1);
  for (const call of received) expect(verified(call, project.webhookSecret).data.task_id).toBe(taskId);
}

describe('an API that is killed', () => {
  it('between the idempotency row and its task leaves neither, and the key is good for one task', async () => {
    expect(deathOf('after_idem_insert').seen).toMatchObject({ keys: 0, tasks: 0, reserved: 0 });
    const first = await askAgain('after_idem_insert');
    expect((await askAgain('after_idem_insert')).taskId).toBe(first.taskId);
    expect(await expectOneTask('after_idem_insert', { end: succeeded })).toBe(first.taskId);
  });

  it('between a hold and its commit leaves a task without a hold, which is then held once', async () => {
    const { seen, taskId } = deathOf('after_hold_before_commit');
    expect(seen).toMatchObject({ keys: 1, tasks: 1, admission: 'open', money: null, reserved: 0 });
    expect((await askAgain('after_hold_before_commit')).taskId).toBe(taskId);
    await expectOneTask('after_hold_before_commit', { end: succeeded });
  });

  it('between its commit and the start of the workflow leaves a task that a sweep starts, though nobody asks again', async () => {
    const { seen, taskId } = deathOf('after_commit_before_start');
    expect(seen).toMatchObject({ keys: 1, tasks: 1, admission: 'open', started: false, money: null, reserved: 0 });
    await expectOneTask('after_commit_before_start', { end: succeeded });
    const again = await askAgain('after_commit_before_start');
    expect([again.taskId, again.headers.get('idempotent-replayed')]).toEqual([taskId, 'true']);
    await expectOneTask('after_commit_before_start', { end: succeeded });
  });

  it('between the verdict and its reply leaves a task that the retry is answered with, held once', async () => {
    const { seen, taskId } = deathOf('after_start_before_reply');
    expect(seen).toMatchObject({ keys: 1, tasks: 1, admission: 'reserved', money: 'held', reserved: imageCredits });
    expect((await askAgain('after_start_before_reply')).taskId).toBe(taskId);
    await expectOneTask('after_start_before_reply', { end: succeeded });
  });

  it('between the answer of a chat and its settlement charges nothing for it, and the retry with its key is charged once', async () => {
    const { seen, project } = deathOf('chat_after_upstream_before_settle');
    expect(seen).toMatchObject({ keys: 1, money: 'held', reserved: 10 });
    const answer = await eventually(
      async () => {
        const said = await sendChat(project, gateway.baseUrl);
        if (said.status !== 200) expect(said.status).toBe(409);
        return said.status === 200 && said;
      },
      { secondsMax: 40 },
    );
    expect(await chatFacts(gateway, requestIdOf(answer))).toMatchObject({ state: 'settled', settled_amount: 5 });
    expect(await gateway.hits('chat_after_upstream_before_settle', 'chat')).toHaveLength(2);
    expect(await accountOf(gateway.database, project.projectId)).toEqual({ balance: startCredits - 5, reserved: 0 });
    const holds = await sql('select state from reservation where project_id = $1 order by created_at', [
      project.projectId,
    ]);
    expect(holds).toEqual([{ state: 'refunded' }, { state: 'settled' }]);
  });
});

describe('a worker that is killed', () => {
  it('between the attempt row and its submit leaves it to nobody to send: the outcome is unknown and the credits go back', async () => {
    const { seen, taskId, submits } = deathOf('after_attempt_row');
    expect(submits).toBe(0);
    expect(seen).toMatchObject({ attempts: 1, operations: 0, outcome: null, money: 'held' });
    await expectOneTask('after_attempt_row', { end: outcomeUnknown, submits: 0 });
    expect(await attemptsOf(gateway.database, taskId)).toMatchObject([{ outcome: 'unknown' }]);
  });

  it('between the job and its id never buys again from who cannot be asked: the credits go back', async () => {
    const place = 'after_upstream_accept_before_save';
    const { seen, taskId, submits } = deathOf(place);
    expect(submits).toBe(1);
    expect(seen).toMatchObject({ attempts: 1, operations: 0, outcome: null, money: 'held' });
    await expectOneTask(place, { end: outcomeUnknown });
    expect(await attemptsOf(gateway.database, taskId)).toMatchObject([{ outcome: 'unknown' }]);
  });

  it('between the job and its id never buys again from who can be asked: the job is found by our key', async () => {
    const place = 'after_upstream_accept_before_save, with a look-up';
    const { seen, project, submits } = deathOf(place);
    expect(submits).toBe(1);
    expect(seen).toMatchObject({ attempts: 1, operations: 0, outcome: null, money: 'held' });
    await expectOneTask(place, { end: succeeded, prompt: 'the same with a look-up', credits: seen.reserved });
    expect(await look(project)).toMatchObject({ attempts: 1, operations: 1, outcome: 'ok' });
  });

  it('between two looks leaves its job to the next one, which goes on with it', async () => {
    const { seen, project, submits, polls } = deathOf('mid_poll');
    // It was told to die at the second look.
    expect([submits, polls]).toEqual([1, 2]);
    expect(seen).toMatchObject({ attempts: 1, operations: 1, outcome: null, money: 'held' });
    await expectOneTask('mid_poll', { end: succeeded });
    expect(await look(project)).toMatchObject({ attempts: 1, operations: 1, outcome: 'ok' });
  });

  it('between the result and the end of its task leaves the result to be charged once', async () => {
    const { seen } = deathOf('after_result_before_finish_tx');
    expect(seen).toMatchObject({ attempts: 1, outcome: 'ok', ended: 0, money: 'held', reserved: imageCredits });
    await expectOneTask('after_result_before_finish_tx', { end: succeeded });
  });

  it('within the end of a task, its money moved and not committed, leaves the task open and it ends once', async () => {
    const { seen } = deathOf('in_finish_before_commit');
    expect(seen).toMatchObject({ outcome: 'ok', ended: 0, money: 'held', reserved: imageCredits, delivery: null });
    await expectOneTask('in_finish_before_commit', { end: succeeded });
    await expectDelivered('in_finish_before_commit', 0);
  });

  it('between the end of a task and the word of it changes nothing of that end, and the callback comes', async () => {
    const { seen } = deathOf('after_finish_commit_before_ack');
    expect(seen).toMatchObject({ ended: 1, status: 'succeeded', money: 'settled', delivery: 'pending', tries: 0 });
    await expectOneTask('after_finish_commit_before_ack', { end: succeeded });
    await expectDelivered('after_finish_commit_before_ack', 0);
  });

  it('between a callback and its count leaves it to be sent again under the same id, and nothing else changes', async () => {
    const { seen } = deathOf('after_callback_send_before_mark');
    expect(seen).toMatchObject({ ended: 1, status: 'succeeded', delivery: 'pending', tries: 0 });
    await expectOneTask('after_callback_send_before_mark', { end: succeeded });
    await expectDelivered('after_callback_send_before_mark', 1);
  });

  it('in the middle of a batch of stale tasks leaves those that it did not reach to the next one, each refunded once', async () => {
    const { seen, project } = deathOf('mid_stale_batch');
    expect(seen).toMatchObject({ tasks: staleTasks, ended: 1, reserved: (staleTasks - 1) * imageCredits });
    const ends = await endsOf(gateway, project.projectId);
    expect(ends).toHaveLength(staleTasks);
    for (const end of ends) {
      expect(end).toMatchObject({ status: 'failed', error_code: 'task_timeout', credits_refunded: imageCredits });
      expect(await entriesOf(gateway.database, end.id)).toEqual({ hold: 1, refund: 1 });
    }
    expect(await gateway.hits('mid_stale_batch', 'submit')).toHaveLength(staleTasks);
    expect(await accountOf(gateway.database, project.projectId)).toEqual({ balance: startCredits, reserved: 0 });
  });

  it('in the middle of retention leaves the row of every file whose bytes may be there, and the next run forgets them all', async () => {
    const { seen, project } = deathOf('mid_retention_delete');
    // A batch of two is forgotten; of the next the bytes of one are gone, or of both, and both rows stand.
    expect(seen).toMatchObject({ files: expiredFiles - 2, ended: 1, money: 'settled' });
    expect([1, 2]).toContain(expiredBytesLeft);
    await eventually(
      async () => (await runsOf(gateway, 'scheduled-maintenance')).some(({ state }) => state === 'succeeded'),
      { secondsMax: 40, what: 'the end of another run' },
    );
    expect(await look(project)).toMatchObject({ files: 0, ended: 1, money: 'settled' });
    expect(expiredBytes()).toBe(0);
  });
});

describe('a crash point', () => {
  it('is told in one of these tests, whichever there is', () => {
    expect([...deaths.keys()]).toEqual(expect.arrayContaining([...crashPoints]));
  });

  it('keeps a process from its start where its name is unknown, and where there is no sandbox, as in production', () => {
    const { SANDBOX_URL: _sandbox, ...production } = gateway.env;
    for (const CRASH_POINT of ['mid_pole', 'mid_poll:0', 'mid_poll:x']) {
      expect(() => loadConfig({ ...gateway.env, CRASH_POINT })).toThrow('CRASH_POINT must be name or name:n');
    }
    expect(() => loadConfig({ ...production, CRASH_POINT: 'mid_poll' })).toThrow('CRASH_POINT is for development only');
    expect(loadConfig(production).development.crashPoint).toBeNull();
    expect(loadConfig({ ...gateway.env, CRASH_POINT: 'mid_poll:2' }).development.crashPoint).toEqual({
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

/** Disables the channels of all other families, or enables all. */
const onlyChannelsOf = (family: string | null): Promise<unknown> =>
  sql('update channel set enabled = ($1::text is null or adapter = $1)', [family]);

const sql = <Row extends Record<string, unknown>>(text: string, values: unknown[] = []): Promise<Row[]> =>
  gateway.database.query<Row>({ name: '', text }, values);
