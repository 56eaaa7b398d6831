import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { cli } from '../../../src/main/cli.ts';
import { rowsOf } from '../../db/books.ts';
import { mediaRoutes, type Task } from '../../support/api-client.ts';
import { commandLine } from '../../support/command-line.ts';
import { eventually } from '../../support/eventually.ts';
import { quickCallbacks } from '../../services/callbacks/receiver.ts';
import { startGateway, type Gateway, type TestProject } from '../../support/gateway.ts';

let gateway: Gateway;
let project: TestProject;
beforeAll(async () => {
  const { CALLBACK_LADDER_SECONDS = '' } = quickCallbacks;
  gateway = await startGateway({ env: { CALLBACK_LADDER_SECONDS } });
  // One family for pictures, so that the attempts are those of sandbox-a, -b and -c, and one for chats.
  await gateway.database.query('test-families', `update channel set enabled = (adapter in ('fal', 'anthropic'))`);
  project = await gateway.project();
});
afterAll(() => gateway.stop());
afterEach(async () => {
  await gateway.database.query('test-all-open', 'delete from channel_health');
  expect(await gateway.verifyLedger()).toMatchObject({ ok: true });
});

const { tollgate } = commandLine(() => gateway.env);

async function make(prompt: string): Promise<Task> {
  const taskId = await gateway.accept(project.apiKey, mediaRoutes.image, { model: 'aurora-image-1', prompt });
  return gateway.poll(project.apiKey, taskId);
}

/** Sends a chat and returns the id of its request. */
async function chat(prompt: string, { apiKey = project.apiKey, stream = false } = {}): Promise<string> {
  const body = { model: 'claude-haiku-5.5', max_tokens: 64, stream, messages: [{ role: 'user', content: prompt }] };
  const answer = await fetch(`${gateway.baseUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', 'x-tollgate-stream': 'live' },
    body: JSON.stringify(body),
  });
  await answer.text().catch(() => undefined);
  return answer.headers.get('x-request-id') ?? '';
}

/** The first line that a command prints for people. */
async function firstLineOf(...command: string[]): Promise<string> {
  const written: string[] = [];
  expect(await cli(command, gateway.env, (text) => written.push(text))).toBe(0);
  return written.join('').split('\n')[0] ?? '';
}

describe('what commands print for people', () => {
  it('has each time as a date, never as unix seconds', async () => {
    const { task_id: taskId } = await make('a fox [[latency=0]]');
    await tollgate(
      'credits',
      'add',
      '--project',
      project.projectId,
      '--amount',
      '5',
      '--reference',
      'x',
      '--expires',
      '30d',
    );
    await tollgate('alarms', 'silence', 'account', '--for', '2h', '--reason', 'x');
    await tollgate('projects', 'secret', 'rotate', project.projectId);
    const ofProject = ['--project', project.projectId];
    const commands = [
      ['projects', 'list'],
      ['projects', 'show', project.projectId],
      ['projects', 'secret', 'show', project.projectId],
      ['keys', 'list'],
      ['credits', 'show', ...ofProject],
      ['channels', 'list'],
      ['channels', 'show', 'sandbox-a'],
      ['channels', 'history', 'sandbox-a'],
      ['tasks', 'list'],
      ['tasks', 'show', taskId],
      ['tasks', 'timeline', taskId],
      ['requests', 'list'],
      ['requests', 'show', taskId],
      ['ledger', 'list', ...ofProject],
      ['alarms', 'list'],
      ['alarms', 'silences'],
      ['jobs', 'list'],
      ['audit', 'list'],
      ['usage', '--group-by', 'hour'],
    ];
    for (const command of commands) {
      const written: string[] = [];
      expect(await cli(command, gateway.env, (text) => written.push(text))).toBe(0);
      expect({ command, times: written.join('').match(/(?<=\s)1[789]\d{8}(?=[\s,;.])/g) }).toEqual({
        command,
        times: null,
      });
    }
  });
});

/** A picture whose callback fails at each of its tries. */
async function exhausted(callbackUrl: string): Promise<string> {
  const body = { model: 'aurora-image-1', prompt: 'why not told [[latency=0]]', callback_url: callbackUrl };
  const taskId = await gateway.accept(project.apiKey, mediaRoutes.image, body);
  await gateway.poll(project.apiKey, taskId, { until: ({ callback }) => callback?.state === 'exhausted' });
  return taskId;
}

const attemptsPath = (taskId: string) => `/api/v1/tasks/${taskId}/attempts`;

describe('GET /api/v1/tasks/{task_id}/attempts', () => {
  it('lists each call with its outcome, without the channel, the provider, the operation id and the cost', async () => {
    const prompt = 'a fox [[latency=50]] [[fail=transient on=sandbox-a]] [[fail=auth on=sandbox-b]]';
    const task = await make(prompt);
    expect(task).toMatchObject({ status: 'succeeded', attempts: 3 });
    const { status, body } = await gateway.get(project.apiKey, attemptsPath(task.task_id));
    const attempt = {
      id: expect.stringMatching(/^att_[0-9a-z]{26}$/),
      object: 'attempt',
      started_at: expect.any(Number),
      submitted_at: null,
      ended_at: expect.any(Number),
    };
    const { data } = z.object({ data: z.array(z.looseObject({ n: z.number(), error: z.unknown() })) }).parse(body);
    expect({ status, body }).toEqual({ status: 200, body: { object: 'list', data } });
    // Two channels of one priority are drawn in any order.
    const [last, ...failed] = data.toReversed();
    expect(failed.toSorted((a, b) => String(a.error).localeCompare(String(b.error)))).toEqual([
      { ...attempt, n: expect.any(Number), outcome: 'transient', error: 'provider_error', status: 503 },
      // The client must not learn the state of the gateway's account at the provider.
      { ...attempt, n: expect.any(Number), outcome: 'transient', error: 'unavailable', status: null },
    ]);
    expect(last).toEqual({
      ...attempt,
      n: 3,
      outcome: 'ok',
      error: null,
      status: null,
      submitted_at: expect.any(Number),
    });
  });

  it("returns 404 for another project's task as for an unknown one, and names the class of a refusal", async () => {
    const task = await make('one more [[latency=0]]');
    const other = await gateway.project();
    const theirs = await gateway.get(other.apiKey, attemptsPath(task.task_id));
    const none = await gateway.get(other.apiKey, attemptsPath('task_nobody'));
    for (const answer of [theirs, none])
      expect(answer).toMatchObject({ status: 404, body: { error: { code: 'task_not_found' } } });
    expect(theirs.body).toEqual(none.body);

    const refused = await make('refused [[fail=refused]]');
    const { body } = await gateway.get(project.apiKey, attemptsPath(refused.task_id));
    expect(body).toMatchObject({ data: [{ n: 1, outcome: 'refused', error: 'content_policy' }] });
  });
});

describe('tollgate tasks show', () => {
  it("shows each attempt with its channel, the provider's operation id and the cost", async () => {
    const task = await make('shown [[latency=0]] [[fail=transient on=sandbox-a]]');
    const { printed } = await tollgate('tasks', 'show', task.task_id);
    const { attempts_detail: attempts } = z
      .object({ attempts_detail: z.array(z.looseObject({ channel: z.string() })) })
      .parse(printed);
    expect(attempts.at(-1)).toMatchObject({
      channel: expect.stringMatching(/^sandbox-[bc]$/),
      outcome: 'ok',
      operation: { request_id: expect.any(String) },
      cost_micro_usd: 20_000,
    });
    for (const failed of attempts.slice(0, -1)) expect(failed).toMatchObject({ cost_micro_usd: 0, operation: null });
  });
});

describe('a task that ends at its deadline while its job still runs', () => {
  it('shows its attempt as canceled, or as unknown if the provider had not accepted it', async () => {
    const taskId = await gateway.accept(project.apiKey, mediaRoutes.image, {
      model: 'aurora-image-1',
      prompt: 'endless [[fail=never]]',
    });
    await eventually(async () => (await gateway.hits('endless', 'poll')).length > 0);
    // Without a worker no process can end the attempt row.
    await gateway.kill('worker-1');
    try {
      const sql = (text: string) => rowsOf(gateway.database, text, [taskId]);
      expect((await gateway.get(project.apiKey, attemptsPath(taskId))).body).toMatchObject({
        data: [{ outcome: null, ended_at: null }],
      });
      await sql(`update task set deadline_at = clock_timestamp() - interval '1 second' where id = $1`);
      // The job of the command line ends it, and no worker that could end the row too.
      expect(await tollgate('jobs', 'run', 'check-stale-media-tasks')).toMatchObject({ code: 0 });
      const task = await gateway.poll(project.apiKey, taskId);
      expect(task).toMatchObject({ status: 'failed', error: { code: 'task_timeout' } });
      const attempt = { n: 1, outcome: 'canceled', ended_at: task.completed_at };
      expect((await gateway.get(project.apiKey, attemptsPath(taskId))).body).toMatchObject({ data: [attempt] });
      expect((await tollgate('tasks', 'show', taskId)).printed).toMatchObject({
        attempts_detail: [{ ...attempt, operation: { request_id: expect.any(String) }, cost_micro_usd: 20_000 }],
        explanation: expect.stringMatching(
          /^The task did not finish before its deadline\. The last call, to sandbox-[abc], ended as canceled/,
        ),
      });
      // A submit without an answer may have started a job that the provider bills.
      await sql('update attempt set operation = null, outcome = null where request_id = $1');
      expect((await gateway.get(project.apiKey, attemptsPath(taskId))).body).toMatchObject({
        data: [{ ...attempt, outcome: 'unknown' }],
      });
      expect(await sql('select outcome from attempt where request_id = $1')).toEqual([{ outcome: null }]);
    } finally {
      await gateway.startWorker();
    }
  });
});

describe('tollgate tasks resolve', () => {
  const unknown = async () =>
    z
      .object({ data: z.array(z.looseObject({ task_id: z.string() })) })
      .parse((await tollgate('tasks', 'list', '--unknown')).printed)
      .data.map(({ task_id: id }) => id);

  it('records what became of an unknown outcome, removes the task from the list, and does not change the task', async () => {
    const task = await make('nobody knows [[fail=reset]]');
    const id = task.task_id;
    expect(await unknown()).toEqual([id]);
    const books = () =>
      rowsOf(
        gateway.database,
        `select to_jsonb(t) as task, (select jsonb_agg(e order by e.id) from ledger_entry e where e.request_id = t.id) as entries,
           (select jsonb_agg(a order by a.n) from attempt a where a.request_id = t.id) as attempts from task t where t.id = $1`,
        [id],
      );
    const before = await books();

    const resolve = (outcome: string, reference: string) =>
      tollgate('tasks', 'resolve', id, '--outcome', outcome, '--reference', reference);
    expect(await resolve('bought', 'invoice 17')).toEqual({
      code: 0,
      printed: { task_id: id, outcome: 'bought', reference: 'invoice 17', changed: true },
    });
    expect(await unknown()).toEqual([]);
    expect(await books()).toEqual(before);
    expect(await gateway.poll(project.apiKey, id)).toEqual(task);
    const audit = await rowsOf(gateway.database, 'select action, before, after from audit_entry where subject = $1', [
      id,
    ]);
    expect(audit).toEqual([
      {
        action: 'tasks.resolve',
        before: { outcome: 'unknown', reference: null },
        after: { outcome: 'bought', reference: 'invoice 17' },
      },
    ]);
    const { printed } = await tollgate('tasks', 'show', id);
    expect(printed).toMatchObject({ resolution: { outcome: 'bought', reference: 'invoice 17' } });

    expect(await resolve('bought', 'invoice 17')).toMatchObject({ code: 0, printed: { changed: false } });
    expect(await resolve('not_bought', 'invoice 17')).toMatchObject({
      code: 1,
      printed: {
        error: { message: expect.stringContaining('is already resolved as bought, with the reference invoice 17') },
      },
    });
  });

  it('refuses a task with a known outcome, an unknown task, and an invalid --outcome', async () => {
    const task = await make('known [[latency=0]]');
    const resolve = (id: string, outcome = 'bought') =>
      tollgate('tasks', 'resolve', id, '--outcome', outcome, '--reference', 'r');
    expect(await resolve(task.task_id)).toMatchObject({
      code: 1,
      printed: { error: { message: expect.stringContaining('is known: succeeded') } },
    });
    expect(await resolve('task_nobody')).toMatchObject({ code: 1 });
    expect((await resolve(task.task_id, 'maybe')).code).toBe(2);
    expect((await tollgate('tasks', 'resolve', task.task_id, '--outcome', 'bought')).code).toBe(2);
  });
});

describe('tollgate requests show', () => {
  const gaveUp =
    /^The provider's content policy refused the request\. The last call, to sandbox-[abc], ended as refused \(/;
  const failures: { what: string; make: () => Promise<string>; says: RegExp; shows: object }[] = [
    {
      what: 'a picture that its provider refuses',
      make: async () => (await make('why refused [[fail=refused]]')).task_id,
      says: gaveUp,
      shows: { kind: 'task', task: { credits: { charged: 0, refunded: 4 }, attempts_detail: [{ cost_micro_usd: 0 }] } },
    },
    {
      what: 'a picture of which nobody knows whether it was bought',
      make: async () => (await make('why unknown [[fail=reset]]')).task_id,
      says: /^It is unknown whether .+ The provider may have billed it\. The hold of 4 credits was given back/,
      shows: { kind: 'task', task: { credits: { charged: 0 }, attempts_detail: [{ cost_micro_usd: 20_000 }] } },
    },
    {
      what: 'a picture whose call the database lost',
      make: async () => {
        const { task_id: id } = await make('why lost [[fail=reset]]');
        await rowsOf(gateway.database, 'delete from attempt where request_id = $1', [id]);
        return id;
      },
      says: /^It is unknown whether .+ The database does not have its calls any more\. The provider may have billed it\. The hold of 4 credits was given back/,
      shows: { kind: 'task', task: { credits: { charged: 0 }, attempts_detail: [] } },
    },
    {
      what: 'a picture whose channels all fail, and whose callback is given up',
      make: async () => {
        const taskId = await gateway.accept(project.apiKey, mediaRoutes.image, {
          model: 'aurora-image-1',
          prompt: 'why down [[fail=transient]]',
          callback_url: `${gateway.sandboxUrl}/_sandbox/inbox/why?status=410`,
        });
        await gateway.poll(project.apiKey, taskId, { until: ({ callback }) => callback?.state === 'gone' });
        return taskId;
      },
      says: /could not complete the job\. The last call, to sandbox-[abc], ended as transient \(.*503.*nothing was charged\. The callback was given up because its receiver answered 410 \(1 try, the last answered with status 410\)\./,
      shows: { kind: 'task', task: { error_code: 'upstream_failed', deliveries: [{ state: 'gone' }] } },
    },
    {
      what: 'a picture that is made, and whose callback no receiver takes',
      make: () => exhausted('http://127.0.0.1:1/why'),
      says: /^The task succeeded\. Credits charged: 4 of 4 held\. The callback was given up because all its tries failed \(8 tries, the last without an answer: connect\)\.$/,
      shows: {
        kind: 'task',
        task: { credits: { charged: 4 }, deliveries: [{ state: 'exhausted', last_status: null }] },
      },
    },
    {
      what: 'a picture that is made, and whose callback its receiver refuses',
      make: () => exhausted(`${gateway.sandboxUrl}/_sandbox/inbox/why?status=503`),
      says: /^The task succeeded\. Credits charged: 4 of 4 held\. The callback was given up because all its tries failed \(8 tries, the last answered with status 503\)\.$/,
      shows: {
        kind: 'task',
        task: { credits: { charged: 4 }, deliveries: [{ state: 'exhausted', last_status: 503 }] },
      },
    },
    {
      what: 'a chat whose channels all fail',
      make: () => chat('why no answer [[fail=transient]]'),
      says: /^The provider answered with an error.+ The hold of \d+ credits? was given back, and nothing was charged\./,
      shows: { kind: 'chat', chat: { outcome: 'refunded', reason: 'upstream_failed', cost_micro_usd: 0 } },
    },
    {
      what: 'a streamed answer that breaks off',
      make: () => chat('why half [[tokens=50 rate=200 cut=10]]', { stream: true }),
      says: /^The call to the provider broke off before the answer ended\. What came until then was charged: \d+ credits? of \d+ held\./,
      shows: { kind: 'chat', chat: { outcome: 'incomplete', reason: 'upstream_interrupted' } },
    },
    {
      what: 'a chat that its credits do not pay for',
      make: async () => chat('why not', await gateway.project({ credits: 0 })),
      says: /^The request was refused before any credits were held: no provider was called, and nothing was charged\. .*credit/,
      shows: { kind: 'answered', answered: { status: 402, error_code: 'insufficient_credits' } },
    },
    {
      what: 'a picture that its credits do not pay for',
      make: async () => {
        const { apiKey } = await gateway.project({ credits: 1 });
        const refused = await gateway.create(apiKey, mediaRoutes.image, { model: 'aurora-image-1', prompt: 'why not' });
        return refused.headers.get('x-request-id') ?? '';
      },
      says: /^The request was refused before any credits were held: no provider was called, and nothing was charged\. .*credit/,
      shows: { kind: 'answered', answered: { status: 402, error_code: 'insufficient_credits' } },
    },
  ];

  it.each(failures)(
    'says in one command why it failed and what it cost: $what',
    async ({ make: fail, says, shows }) => {
      const id = await fail();
      // Rows about requests without credits are written some moments later.
      await eventually(async () => (await tollgate('requests', 'show', id)).code === 0, { what: `the request ${id}` });
      expect((await tollgate('requests', 'show', id)).printed).toMatchObject(shows);
      expect(await firstLineOf('requests', 'show', id)).toMatch(says);
      const { task } = z
        .object({ task: z.object({ request_id: z.string() }).nullable() })
        .parse((await tollgate('requests', 'show', id)).printed);
      if (task === null) return;
      expect(await firstLineOf('tasks', 'show', id)).toMatch(says);
      // The id of the request that created a task is as good as that of the task.
      expect((await tollgate('requests', 'show', task.request_id)).printed).toMatchObject(shows);
    },
  );
});
