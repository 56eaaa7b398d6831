import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createChannelCache } from '../../../../src/channels/channel-cache.ts';
import type { CallOptions, ProviderRef, StopAnswer } from '../../../../src/adapters/channel.ts';
import { credentialContext } from '../../../../src/services/channels/unseal-credential.ts';
import { cancelTask } from '../../../../src/services/tasks/end/cancel-task.ts';
import { readKeptResults } from '../../../../src/services/tasks/attempt/kept-results.ts';
import {
  createProviderJobPoller,
  freeSlots,
  type ProviderJobPoller,
} from '../../../../src/services/tasks/attempt/poll-parked-provider-jobs.ts';
import { testConfig } from '../../../support/test-config.ts';
import { beginAttempt, saveProviderRef } from '../../../../src/db/tasks/attempts.ts';
import type { Database } from '../../../../src/db/database.ts';
import type { Ledger } from '../../../../src/db/ledger/ledger.ts';
import { parkProviderJob } from '../../../../src/db/tasks/parked-provider-jobs.ts';
import { findTask } from '../../../../src/db/tasks/tasks.ts';
import type { PollResult } from '../../../../src/domain/channels/upstream.ts';
import { createSealer } from '../../../../src/platform/crypto/seal.ts';
import { createLogger } from '../../../../src/platform/observe/logger.ts';
import { createMetrics } from '../../../../src/platform/observe/metrics.ts';
import { noTracer } from '../../../../src/platform/observe/tracer.ts';
import type { StartResult } from '../../../../src/platform/temporal/workflow-client.ts';
import { admitted, newId, newTask, openBook, openLedger, rowsOf, run, taskEnd, type Book } from '../../../db/books.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { eventually } from '../../../support/eventually.ts';
import { metricValue } from '../../../support/metric-value.ts';
import { quickSettings } from '../../../support/gateway-settings.ts';

/** A worker's poller on a real database, with an upstream and a Temporal that the test controls. */
interface Scene {
  cancel(taskId: string): Promise<unknown>;
  poller: ProviderJobPoller;
  /** The job of each poll, in order. */
  polled: string[];
  pollingNow(): number;
  stopped: string[];
  collected: string[];
  warnings: string[];
  /** Claims again and again until the condition holds. */
  until(what: string, condition: () => boolean | Promise<boolean>): Promise<void>;
  metrics: ReturnType<typeof createMetrics>;
}

type Answer = PollResult | 'hang';

let scratch: TestDatabase;
let db: Database;
let ledger: Ledger;
let book: Book;
const pollers: ProviderJobPoller[] = [];
/** How the upstream answers the polls of a job. */
let answers: Map<string, Answer>;
let temporal: StartResult;
let stopAnswer: StopAnswer;

beforeAll(async () => {
  scratch = await createTestDatabase();
  db = await scratch.open();
  ledger = openLedger(db);
});
beforeEach(async () => {
  await run(db, 'delete from channel');
  book = await openBook(db, { credits: 10_000 });
  answers = new Map();
  temporal = 'started';
  stopAnswer = 'stopped';
});
afterEach(() => Promise.all(pollers.splice(0).map((poller) => poller.stop())));
afterAll(() => scratch.drop());

const pending: PollResult = { kind: 'pending' };
const done: PollResult = { kind: 'done', outputs: [{ url: 'https://example.com/a.mp4' }] };
const missing: PollResult = { kind: 'missing', detail: '404' };

function openScene(own: Record<string, string> = {}): Scene {
  const config = configWith(own);
  const [polled, stopped, collected, warnings]: string[][] = [[], [], [], []];
  let polling = 0;
  const providerJobIdOf = ({ id }: ProviderRef): string => (typeof id === 'string' ? id : '');
  const pollMedia = async (
    _upstream: unknown,
    providerRef: ProviderRef,
    { signal }: CallOptions,
  ): Promise<PollResult> => {
    const providerJobId = providerJobIdOf(providerRef);
    polled?.push(providerJobId);
    polling += 1;
    try {
      const answer = answers.get(providerJobId) ?? pending;
      if (answer !== 'hang') return answer;
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      return { kind: 'unclear', detail: 'timeout' };
    } finally {
      polling -= 1;
    }
  };
  const cancelMedia = (_upstream: unknown, providerRef: ProviderRef) => {
    stopped?.push(providerJobIdOf(providerRef));
    return Promise.resolve(stopAnswer);
  };
  const metrics = createMetrics();
  const silent = createLogger('silent', 'test');
  const logger = Object.assign(silent, {
    warn: (...args: unknown[]) => void warnings?.push(String(args.at(-1))),
  });
  const deps = {
    config,
    db,
    metrics,
    tracer: noTracer,
    logger,
    sealer,
    channels: createChannelCache(db, 0, config.breaker, { logger, probe: () => Promise.resolve(null) }),
    adapters: { fal: { pollMedia, cancelMedia } },
    ledger,
    workflows: {
      collect: ({ taskId }: { taskId: string }) => {
        collected?.push(taskId);
        return Promise.resolve(temporal);
      },
      start: () => Promise.reject(new Error('the poller starts no workflow')),
      startAgain: () => Promise.reject(new Error('the poller starts no workflow')),
      readRecord: () => Promise.reject(new Error('the poller reads no history')),
      cancel: () => Promise.resolve(true),
    },
  };
  const poller = createProviderJobPoller(deps);
  pollers.push(poller);
  return {
    cancel: async (taskId) => cancelTask(deps, (await findTask(db, taskId))!),
    poller,
    polled: polled ?? [],
    pollingNow: () => polling,
    stopped: stopped ?? [],
    collected: collected ?? [],
    warnings: warnings ?? [],
    metrics,
    until: (what, condition) =>
      eventually(
        async () => {
          await poller.claim();
          return condition();
        },
        { what },
      ).then(() => undefined),
  };
}

const configWith = (own: Record<string, string> = {}) =>
  testConfig({
    ...quickSettings,
    DATABASE_URL: 'postgres://127.0.0.1:1/none',
    TEMPORAL_ADDRESS: '127.0.0.1:1',
    PUBLIC_BASE_URL: 'http://127.0.0.1:1',
    SANDBOX_URL: 'http://127.0.0.1:1',
    POLL_INTERVAL_MAX_MS: '5000',
    ...own,
  });
const sealer = createSealer(configWith().secrets.masterKeys);

async function newChannel(enabled = true): Promise<string> {
  const id = newId('chn');
  await run(
    db,
    `insert into channel (id, name, adapter, base_url, credential, groups, enabled)
     values ($1, $1, 'fal', 'http://127.0.0.1:1', $2, '{default}', $3)`,
    [id, sealer.seal('secret', credentialContext(id)), enabled],
  );
  return id;
}

/** A parked job whose poll is due. */
async function dueProviderJob(
  channelId: string,
  answer: Answer = pending,
  of = book,
): Promise<{ providerJobId: string; taskId: string }> {
  const providerJobId = newId('job');
  answers.set(providerJobId, answer);
  const { taskId } = await admitted(ledger, newTask(of, 1));
  const held = (await beginAttempt(db, {
    attemptId: newId('att'),
    taskId,
    channelId,
    fence: newId('fence'),
    submitSeconds: 60,
    costMicroUsd: 0,
    probeSeconds: 10,
    adapter: 'fal',
  }))!;
  await saveProviderRef(db, held, { id: providerJobId });
  await parkProviderJob(db, held, of.projectId, { leastSeconds: 5, mostSeconds: 60 });
  await makeDue(taskId);
  return { providerJobId, taskId };
}

const makeDue = (taskId: string) =>
  run(db, 'update attempt set next_poll_at = clock_timestamp() where request_id = $1', [taskId]);

const rowOf = async (taskId: string) =>
  (
    await rowsOf<{ outcome: string | null; parked: boolean; missing: boolean; progress: number | null }>(
      db,
      `select a.outcome, a.next_poll_at is not null as parked, a.missing_since is not null as missing, t.progress
       from attempt a join task t on t.id = a.request_id where t.id = $1`,
      [taskId],
    )
  )[0];

describe('a provider whose polls hang', () => {
  it('takes the places of its own channel only, and delays no poll of another channel', async () => {
    // No poll ends before the test has counted them.
    const scene = openScene({ POLL_INTERVAL_MAX_MS: '60000' });
    const [hanging, healthy] = [await newChannel(), await newChannel()];
    await Promise.all(Array.from({ length: 270 }, () => dueProviderJob(hanging, 'hang')));
    await scene.until('every place of the channel', () => scene.pollingNow() === 256);
    const { providerJobId } = await dueProviderJob(healthy);
    await scene.poller.claim();
    expect(scene.polled.at(-1)).toBe(providerJobId);
    await scene.poller.claim();
    expect(scene.pollingNow()).toBe(256);
  });

  it('polls no job twice at once: a poll ends before the job is due again', async () => {
    const scene = openScene({ POLL_INTERVAL_MAX_MS: '400' });
    const { providerJobId } = await dueProviderJob(await newChannel(), 'hang');
    let most = 0;
    await scene.until('three polls', () => {
      most = Math.max(most, scene.pollingNow());
      return scene.polled.filter((polled) => polled === providerJobId).length >= 3;
    });
    expect(most).toBe(1);
  });

  it('leaves each further channel its smallest share, however many channels hang', () => {
    const taken = new Map(Array.from({ length: 8 }, (_, n) => [`hanging-${n}`, 128]));
    const slots = freeSlots([...taken.keys(), 'healthy'], taken);
    expect(slots).toEqual([{ channelId: 'healthy', slots: 4 }]);
  });

  it.each([
    [1, 256],
    [4, 204],
    [8, 113],
  ])('leaves free about as many places as each channel has, if %s of them hang: %s', (count, each) => {
    const hanging = Array.from({ length: count }, (_, n) => `hanging-${n}`);
    const taken = new Map<string, number>();
    for (let turn = 0; turn < 200; turn++)
      for (const { channelId, slots } of freeSlots(hanging, taken))
        taken.set(channelId, (taken.get(channelId) ?? 0) + slots);
    const most = Math.max(...taken.values());
    expect(most).toBeLessThan(each + 10);
    expect(most).toBeGreaterThan(each - 10);
    const [healthy] = freeSlots(['healthy', ...hanging], taken);
    expect(healthy?.slots).toBeGreaterThan(4);
  });
});

describe('a poll of a parked job', () => {
  it('that finds the job running leaves it parked, signals no workflow, and has its progress written', async () => {
    // No poll is due again by itself while the test runs.
    const scene = openScene({ POLL_INTERVAL_MAX_MS: '60000' });
    const channelId = await newChannel();
    const begunAt = performance.now();
    const { providerJobId, taskId } = await dueProviderJob(channelId);
    await scene.until('the poll', () => scene.polled.includes(providerJobId));
    await scene.until('its end', () => scene.pollingNow() === 0);
    expect(await rowOf(taskId)).toEqual({ outcome: null, parked: true, missing: false, progress: null });

    answers.set(providerJobId, { kind: 'pending', progress: 30 });
    await makeDue(taskId);
    await scene.until('the progress', async () => (await rowOf(taskId))?.progress === 30);
    expect(scene.collected).toEqual([]);
    const page = await scene.metrics.page();
    expect(metricValue(page, 'tollgate_polls_total')).toBe(2);
    // None can be a second late if all together took less.
    if (performance.now() - begunAt < 1_000) expect(metricValue(page, 'tollgate_polls_late_total')).toBe(0);
  });

  it('is made although its channel is disabled, cooling down or tripped, because the job is bought', async () => {
    const scene = openScene();
    const [disabled, tripped] = [await newChannel(), await newChannel()];
    const providerJobs = [await dueProviderJob(disabled, done), await dueProviderJob(tripped, done)];
    await run(db, 'update channel set enabled = false where id = $1', [disabled]);
    await run(
      db,
      `insert into channel_health (channel_id, model_id, unavailable_until, trips) values ($1, '*', clock_timestamp() + interval '1 hour', 1)`,
      [tripped],
    );
    await scene.until('both signals', () => providerJobs.every(({ taskId }) => scene.collected.includes(taskId)));
  });

  it('that finds the end of the job signals the workflow, and again after each interval until an activity takes the row', async () => {
    const scene = openScene({ POLL_INTERVAL_MAX_MS: '300' });
    const { taskId } = await dueProviderJob(await newChannel(), done);
    await scene.until('a signal that was lost and two more', () => scene.collected.length >= 3);
    expect(new Set(scene.collected)).toEqual(new Set([taskId]));
    expect(await rowOf(taskId)).toMatchObject({ outcome: null, parked: true });
  });

  it('that finds the end of the job while Temporal is down warns once, and signals when Temporal is back', async () => {
    const scene = openScene({ POLL_INTERVAL_MAX_MS: '300' });
    temporal = 'unreachable';
    await dueProviderJob(await newChannel(), done);
    await scene.until('three signals in vain', () => scene.collected.length >= 3);
    expect(scene.warnings.filter((line) => line.includes('Temporal is unavailable'))).toHaveLength(1);
    temporal = 'started';
    const before = scene.collected.length;
    await scene.until('a signal that arrives', () => scene.collected.length > before);
  });

  it('that finds the task ended ends the attempt as canceled, stops the job, and keeps the address of a result that had come, sealed', async () => {
    const scene = openScene();
    const { providerJobId, taskId } = await dueProviderJob(await newChannel(), done);
    await ledger.finishTask(taskEnd(taskId, 'canceled'));
    await scene.until('the end of the attempt', async () => (await rowOf(taskId))?.outcome === 'canceled');
    await scene.until('the stop', () => scene.stopped.length > 0);
    expect(scene.stopped).toEqual([providerJobId]);
    expect(scene.polled).toEqual([providerJobId]);
    expect(await rowOf(taskId)).toMatchObject({ parked: false });
    const rows = await rowsOf<{ result: string }>(db, `select result from attempt where request_id = '${taskId}'`);
    expect(rows).toEqual([{ result: expect.stringMatching(/^v2\./) }]);
    expect(await readKeptResults({ db, sealer }, taskId)).toEqual([{ attempt: 1, url: 'https://example.com/a.mp4' }]);
  });

  it('that finds no job remembers since when, and has the attempt ended after POLL_MISSING_LOST_SECONDS', async () => {
    const scene = openScene({ POLL_MISSING_LOST_SECONDS: '60' });
    const { taskId } = await dueProviderJob(await newChannel(), missing);
    await scene.until('the note', async () => (await rowOf(taskId))?.missing === true);
    expect(scene.collected).toEqual([]);
    await run(
      db,
      `update attempt set missing_since = clock_timestamp() - interval '61 s', next_poll_at = clock_timestamp() where request_id = $1`,
      [taskId],
    );
    await scene.until('the signal', () => scene.collected.includes(taskId));
  });

  it('that finds the job again forgets that it was missing', async () => {
    const scene = openScene();
    const { providerJobId, taskId } = await dueProviderJob(await newChannel(), missing);
    await scene.until('the note', async () => (await rowOf(taskId))?.missing === true);
    answers.set(providerJobId, pending);
    await makeDue(taskId);
    await scene.until('the note to go', async () => (await rowOf(taskId))?.missing === false);
  });
});

describe('a cancel whose stop the provider did not confirm', () => {
  it('has the job polled at once, because the result of the poll decides the cancel', async () => {
    const scene = openScene({ CANCEL_WAIT_SECONDS: '1' });
    stopAnswer = 'unclear';
    const { providerJobId, taskId } = await dueProviderJob(await newChannel(), {
      kind: 'failed',
      detail: 'canceled',
    });
    await run(db, `update attempt set next_poll_at = clock_timestamp() + interval '1 hour' where request_id = $1`, [
      taskId,
    ]);
    // No workflow collects the result here, so the request is refused after its wait.
    const refused = expect(scene.cancel(taskId)).rejects.toMatchObject({ code: 'task_not_cancelable' });
    await scene.until('the signal', () => scene.collected.includes(taskId));
    expect(scene.stopped).toEqual([providerJobId]);
    await refused;
  });
});

describe('a poller that stops', () => {
  it('drops its running polls at once, and their jobs are due again when the leases end', async () => {
    const scene = openScene();
    const { taskId } = await dueProviderJob(await newChannel(), 'hang');
    await scene.until('the poll', () => scene.pollingNow() === 1);
    await scene.poller.stop();
    expect(scene.pollingNow()).toBe(0);
    expect(await rowOf(taskId)).toMatchObject({ outcome: null, parked: true });
  });
});
