import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  beginAttempt,
  endAttempt,
  findTaskForAttempt,
  findTaskRouting,
  markSeen,
  saveProviderRef,
  saveResult,
  startAttempt,
  type AttemptMemory,
} from '../../src/db/tasks/attempts.ts';
import { expireChats, firstAttemptId, type ChatLedger } from '../../src/db/chat/chat-ledger.ts';
import { addToHistory, readHistoryRows } from '../../src/db/channels/channel-history.ts';
import type { Database } from '../../src/db/database.ts';
import {
  claimDelivery,
  claimOverdueDeliveries,
  endDeliveryTry,
  readDelivery,
} from '../../src/db/callbacks/deliveries.ts';
import { findIdempotent, markReplayed } from '../../src/db/idempotency.ts';
import { findLiveKeys } from '../../src/db/projects/live-keys.ts';
import type { Ledger } from '../../src/db/ledger/ledger.ts';
import { readKeyFacts } from '../../src/db/projects/key-facts.ts';
import { listLedger } from '../../src/db/ledger/list-ledger.ts';
import { listTaskRows } from '../../src/db/tasks/list-task-rows.ts';
import { claimPolls, parkProviderJob } from '../../src/db/tasks/parked-provider-jobs.ts';
import {
  claimSilentTasks,
  claimUnstartedTasks,
  findTask,
  findTasks,
  listStaleTasks,
  readUnstarted,
  taskVersions,
} from '../../src/db/tasks/tasks.ts';
import { sumUsage } from '../../src/db/ledger/usage.ts';
import { usageGroups } from '../../src/domain/ledger/usage-group.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { historyOf } from '../support/history.ts';
import {
  admitted,
  idempotently,
  newId,
  newTask,
  openBook,
  openLedger,
  patienceMs,
  run,
  taskEnd,
  type Book,
} from './books.ts';
import { RateLimiter } from '../../src/db/projects/rate-limiter.ts';
import { readsOf, stopAutovacuum, type Reads } from './block-reads.ts';
import { anAdmission, openChatLedger, refundFacts, settledEnd } from './chat-books.ts';

/**
 * The cost of a statement on the hot path must not grow with the history, nor with the customers. The tests run every operation on tables with
 * 200,000 ended chats, 50,000 ended tasks, 10,000 projects and 50,000 keys. PostgreSQL counts the blocks that the operation reads, those of its SQL functions included.
 */
const endedChats = 200_000;
const endedTasks = 50_000;

/**
 * The most blocks of tables and indexes that a call with one member may read. An index of this size has three levels. An
 * operation looks up at most 20 rows and writes at most ten. A scan of a table, or of a whole index, reads more than 1,000.
 */
const blocksMax = 250;

/** What a large import adds: projects with accounts, keys and secrets. */
const otherCustomers = [
  `insert into project (id, name, status, callback_secret) select 'prj_other' || n, 'other', 'active', 'sealed' from generate_series(1, 10000) n`,
  `insert into credit_account (project_id, balance) select 'prj_other' || n, 0 from generate_series(1, 10000) n`,
  `insert into api_key (id, project_id, name) select 'key_other' || n, 'prj_other' || (n % 10000 + 1), 'other' from generate_series(1, 50000) n`,
  `insert into api_key_secret (id, key_id, digest, pepper_id, prefix, last4)
   select 'sec_other' || n, 'key_other' || n, sha256(n::text::bytea), 'p1', 'sk-', 'xxxx' from generate_series(1, 50000) n`,
];

let scratch: TestDatabase;
let observer: Database;
let book: Book;
let channelId: string;
/** A session whose statements were planned while the tables were empty. */
let oldSession: Session;
/** A session that was opened after the tables were filled and analyzed. */
let newSession: Session;

beforeAll(async () => {
  scratch = await createTestDatabase();
  observer = await scratch.open({ poolMax: 1, statementTimeoutMs: 300_000 });
  await stopAutovacuum(observer);
  book = await openBook(observer, { credits: 1_000_000 });
  channelId = await addChannel(observer);
  oldSession = await openSession();
  await readsOfEveryAction(oldSession);
  // A pool closes a connection that is idle for a minute, and filling the tables may take longer.
  const awake = setInterval(() => void run(oldSession.db, 'select 1'), 10_000);
  for (const text of [...historyOf(book, { chats: endedChats, tasks: endedTasks }), ...otherCustomers])
    await run(observer, text);
  clearInterval(awake);
  // Otherwise PostgreSQL may count what these statements read while a test counts.
  await run(observer, 'select pg_stat_force_next_flush()');
});
afterAll(() => scratch.drop());

describe('in a session that planned its statements on empty tables', () => {
  it('every operation except sweeps and lists reads a bounded number of blocks before the full tables are analyzed', async () => {
    // The first sweep reads the dead index entry of every ended row, and marks it. A list of tasks sorts rows until ANALYZE shows
    // the planner that an index has the order. Autovacuum does both within a minute, and no client waits for a sweep.
    const reads = await readsOfEveryAction(oldSession);
    expect(excessive(reads.filter(([action]) => !/^(sweep|list) /.test(action)))).toEqual([]);
  });

  it('every operation reads a bounded number of blocks after VACUUM ANALYZE', async () => {
    await run(observer, 'vacuum analyze');

    await readsOfEveryAction(oldSession);
    expect(excessive(await readsOfEveryAction(oldSession))).toEqual([]);
  });
});

describe('in a session that planned its statements on full tables', () => {
  beforeAll(async () => {
    newSession = await openSession();
    // The first call of a PL/pgSQL function plans its statements, and planning also reads blocks.
    await readsOfEveryAction(newSession);
  });

  it('every operation reads a bounded number of blocks', async () => {
    expect(excessive(await readsOfEveryAction(newSession))).toEqual([]);
  });

  it('a batch of 64 chats reads at most 64 times the blocks of one chat', async () => {
    const { chats, reads } = newSession;
    const admissions = Array.from({ length: 64 }, () => anAdmission(book, { channelId }));

    const admitting = await reads(() => Promise.all(admissions.map((admission) => chats.admit(admission))));
    const ending = await reads(() => Promise.all(admissions.map((admission) => chats.end(settledEnd(admission, 1)))));

    for (const { blocks, scans } of [admitting, ending]) {
      expect(blocks).toBeLessThan(64 * blocksMax);
      expect(scans).toEqual([]);
    }
  });

  it('the end of a failed task reads a bounded number of blocks', async () => {
    const task = await admitted(newSession.ledger, newTask(book, 1));

    const { blocks, scans } = await newSession.reads(() =>
      newSession.ledger.finishTask(taskEnd(task.taskId, 'failed')),
    );

    expect(scans).toEqual([]);
    expect(blocks).toBeLessThan(blocksMax);
  });
});

describe('the usage of a month whose days are closed', () => {
  it('reads the summaries of the days and not their entries', async () => {
    const today = Math.floor(Date.now() / 86_400_000) * 86_400;
    const month = { from: today - 30 * 86_400, to: today };
    await run(
      observer,
      `insert into summary_day select (to_timestamp(at) at time zone 'UTC')::date, 0, now(), now()
       from generate_series($1::bigint, $2::bigint - 1, 86400) at`,
      [month.from, month.to],
    );
    const { projectId, keyId } = book;
    await run(
      observer,
      `insert into daily_summary select day, $1, $2, 'model-a', 'chn_1', 5, 1, 7, 0, 0, 0 from summary_day`,
      [projectId, keyId],
    );
    const sum = () => sumUsage(newSession.db, { projectId, ...month, timeZone: 'UTC', groups: usageGroups }, 100);
    await sum();

    const { blocks, scans } = await newSession.reads(sum);

    expect((await sum())[0]).toMatchObject({ isTotal: true, requests: 180, credits: 210 });
    expect(scans).toEqual([]);
    expect(blocks).toBeLessThan(blocksMax);
  });
});

describe('the history of a channel among 200,000 minutes and hours of 20 channels', () => {
  const now = Math.floor(Date.now() / 1_000);

  beforeAll(async () => {
    // As the processes write it: the rows of all channels in the order of their times.
    await run(
      observer,
      `insert into channel_history (channel_id, span, at, ok, refused, transient, unknown, durations)
       select 'chn_history_' || c, span, to_timestamp($1) - back * ('1 ' || span)::interval, 5, 1, 1, 1, array_fill(1, array[60])
       from (values ('minute', 9260), ('hour', 740)) s (span, rows), generate_series(0, rows - 1) back, generate_series(1, 20) c
       order by 3, 1`,
      [now - (now % 3_600)],
    );
    await run(observer, 'vacuum analyze channel_history');
  });

  it.each([
    ['minute', 3_600, 60],
    ['hour', 86_400, 24],
    ['hour', 7 * 86_400, 168],
  ] as const)('by %s of the last %d seconds reads its %d rows and no others', async (span, seconds, rows) => {
    const from = now - (now % 3_600) - seconds + 1;
    const read = () => readHistoryRows(newSession.db, { channelId: 'chn_history_7', span, from });
    await read();
    let found: unknown[] = [];

    const { blocks, scans } = await newSession.reads(async () => (found = await read()));

    expect(found).toHaveLength(rows);
    expect(scans).toEqual([]);
    expect(blocks).toBeLessThan(blocksMax);
  });

  it('is added to in a bounded number of blocks', async () => {
    const row = { channelId: 'chn_history_7', ok: 1, refused: 0, transient: 0, unknown: 0, durations: [0, 1] };
    const at = now - (now % 3_600);
    const add = () =>
      addToHistory(newSession.db, [
        { ...row, span: 'minute', at },
        { ...row, span: 'hour', at },
      ]);
    await add();

    const { blocks, scans } = await newSession.reads(add);

    expect(scans).toEqual([]);
    expect(blocks).toBeLessThan(50);
  });
});

describe('among 20,000 parked jobs of 20 projects', () => {
  const slots = 8;
  const claim = ({ db }: Session) => claimPolls(db, [{ channelId: 'chn_parked', slots }], pollBounds);

  beforeAll(async () => {
    await run(observer, `set session_replication_role = replica`);
    await run(
      observer,
      `insert into task (id, project_id, key_id, request_id, type, model_id, input, snapshot, credits_quoted, deadline_at, admission)
       select 'task_parked_' || n, 'prj_' || n % 20, $1, 'req_t', 'video', 'model-a', '{}', '{}', 1, clock_timestamp() + interval '1 hour',
              'reserved' from generate_series(1, 20000) n`,
      [book.keyId],
    );
    await run(
      observer,
      `insert into attempt (id, request_id, n, channel_id, channel_name, fence, submit_deadline, submitted_at, operation, project_id, next_poll_at)
       select 'att_parked_' || n, 'task_parked_' || n, 1, 'chn_parked', 'parked', 'fence', clock_timestamp(), clock_timestamp(), '{}',
              'prj_' || n % 20, clock_timestamp() + interval '1 hour' from generate_series(1, 20000) n`,
    );
    await run(observer, `set session_replication_role = origin`);
  });

  it.each([
    ['none is due', '1 hour', 0],
    ['all are due', '-1 hour', slots],
  ])('a claim of polls reads a bounded number of blocks when %s', async (_when, due, claimed) => {
    await run(
      observer,
      `update attempt set next_poll_at = clock_timestamp() + $1::interval where channel_id = 'chn_parked'`,
      [due],
    );
    await run(observer, 'vacuum analyze attempt');
    let providerJobs: unknown[] = [];

    const { blocks, scans } = await newSession.reads(async () => (providerJobs = await claim(newSession)));

    expect(providerJobs).toHaveLength(claimed);
    expect(scans).toEqual([]);
    // Each of the 20 projects is found in the index, and offers its longest due jobs.
    expect(blocks).toBeLessThan(4 * blocksMax);
  });
});

/** Has one connection, so that PostgreSQL's counters belong to the operation that ran. */
interface Session {
  db: Database;
  ledger: Ledger;
  chats: ChatLedger;
  reads: (work: () => Promise<unknown>) => Promise<Reads>;
}

async function openSession(): Promise<Session> {
  const db = await scratch.open({ poolMax: 1 });
  return { db, ledger: openLedger(db), chats: openChatLedger(db), reads: readsOf(observer, db) };
}

const excessive = (reads: [action: string, reads: Reads][]): [action: string, reads: Reads][] =>
  reads.filter(([, { blocks, scans }]) => blocks > blocksMax || scans.length > 0);

/** Notes what an operation reads, and returns what it returned. */
type Note = <T>(action: string, work: () => Promise<T>) => Promise<T>;
type Noted = Session & { note: Note };

/** Runs every operation of a chat, of a media task and of the sweeps. Returns the blocks that each of them read. */
async function readsOfEveryAction(session: Session): Promise<[action: string, reads: Reads][]> {
  const noted: [string, Reads][] = [];
  async function note<T>(action: string, work: () => Promise<T>): Promise<T> {
    let value!: T;
    noted.push([action, await session.reads(async () => (value = await work()))]);
    return value;
  }
  const requestId = await noteChats({ ...session, note });
  const { deliveryId } = await noteTasks({ ...session, note });
  await noteLists({ ...session, note }, requestId);
  await noteDelivery({ ...session, note }, deliveryId);
  await noteSweeps({ ...session, note });
  return noted;
}

/** Returns the id of a request that was settled. */
async function noteChats({ db, chats, note }: Noted): Promise<string> {
  await note('find a key', () => findLiveKeys(db, [Buffer.alloc(32)]));
  await note('find an idempotency key', () =>
    findIdempotent(db, { projectId: book.projectId, route: '/api/v1/chat/completions', key: 'unknown' }),
  );
  await note('count a request', () => new RateLimiter(db, { membersMax: 1, patienceMs }).hit(book.keyId, 1_000_000));
  const first = anAdmission(book, {
    rpm: 1_000_000,
    channelId,
    idempotency: { route: '/api/v1/chat/completions', key: newId('idem'), fingerprint: 'same', keptSeconds: 60 },
  });
  expect(await note('admit a chat', () => chats.admit(first))).toMatchObject({ verdict: { kind: 'admitted' } });
  const second = newId('att');
  await note('begin the second attempt of a chat', () =>
    chats.nextAttempt({
      requestId: first.requestId,
      ended: {
        attemptId: firstAttemptId(first.requestId),
        outcome: 'transient',
        errorClass: null,
        status: 503,
        detail: null,
      },
      attemptId: second,
      n: 2,
      channelId: 'chn_b',
      channelName: 'channel-b',
    }),
  );
  const settled = settledEnd(first, 1);
  await note('settle a chat', () =>
    chats.end({ ...settled, attempt: settled.attempt && { ...settled.attempt, attemptId: second } }),
  );
  const refunded = anAdmission(book, { channelId });
  await chats.admit(refunded);
  await note('refund a chat', () => chats.refund('upstream_failed', refundFacts(refunded)));
  await note('mark a replay', () => markReplayed(db, first.requestId));
  const undelivered = anAdmission(book, { channelId });
  await chats.admit(undelivered);
  await chats.end(settledEnd(undelivered, 1));
  await note('give back the charge of a chat', () => chats.giveBack(settledEnd(undelivered, 1)));
  return first.requestId;
}

/** Returns the end of a task with a callback. */
async function noteTasks({ db, ledger, note }: Noted): Promise<ReturnType<typeof taskEnd>> {
  const task = newTask(book, 1, { ...idempotently(newId('idem')), callbackUrl: 'https://example.com/hook' });
  await note('create a task', () => ledger.createTask(task));
  await note('reserve a task', () => ledger.reserveTask(task.taskId, true));
  const short = await admitted(ledger, newTask(book, 1, { snapshot }));
  const held = { attemptId: newId('att'), fence: newId('fence') };
  const start = { ...held, taskId: short.taskId, channelId, probeSeconds: 30, adapter: 'openai' };
  expect(
    await note('start an attempt', () => startAttempt(db, { ...start, submitSeconds: { image: 60, video: 60 } })),
  ).toMatchObject({ started: true });
  const draft = { id: newId('file'), storageKey: `outputs/${held.attemptId}` };
  const drafted = { projectId: book.projectId, taskId: short.taskId, drafts: [draft], keptSeconds: 60 };
  await note('save a job id', () => saveProviderRef(db, held, { id: 'job' }));
  await note('save a result', () => saveResult(db, held, [{ url: 'https://example.com/a.png' }], drafted));
  const media = { mimeType: 'image/png', bytes: 1, sha256: 'aa', width: 1, height: 1, duration: null };
  expect(
    await note('finish an attempt', () =>
      ledger.finishAttempt({ ...taskEnd(short.taskId, 'succeeded'), ...held, files: [{ ...draft, ...media }] }),
    ),
  ).toMatchObject({ finished: true });
  await note('read the routing of a task', () => findTaskRouting(db, task.taskId));
  await note('read a task for its attempt', () => findTaskForAttempt(db, task.taskId, channelId));
  const attempt = await note('begin an attempt', () => begin(db, task.taskId));
  if (!attempt) throw new Error('the attempt did not begin');
  await note('mark a task as seen', () => markSeen(db, task.taskId, 50));
  await saveProviderRef(db, attempt, { id: 'job' });
  await note('park a job', () => parkProviderJob(db, attempt, book.projectId, pollBounds));
  await note('claim the polls of parked jobs', () => claimPolls(db, [{ channelId, slots: 100 }], pollBounds));
  await note('end an attempt', () => endAttempt(db, attempt, { outcome: 'ok', outputs: [] }));
  const end = taskEnd(task.taskId, 'succeeded');
  await note('finish a task', () => ledger.finishTask(end));
  await note('read a task', () => findTask(db, task.taskId));
  await note('poll a task', () => findTasks(db, [task.taskId]));
  await note('read the version of a task that a client waits for', () => taskVersions(db, [task.taskId]));
  await note('show a key', () => readKeyFacts(db, book.keyId));
  return end;
}

async function noteLists({ db, note }: Noted, requestId: string): Promise<void> {
  const { projectId, keyId } = book;
  const ledgerPages = {
    'of a project': { projectId },
    'of a key': { projectId, keyId },
    'of a key without any': { projectId, keyId: 'key_none' },
    'of a request': { projectId, requestId },
  };
  for (const [whose, filter] of Object.entries(ledgerPages))
    await note(`list the ledger ${whose}`, () => listLedger(db, filter, { limit: 20, after: null }));
  const now = Math.ceil(Date.now() / 1_000);
  const range = { projectId, from: now - 60, to: now, timeZone: 'UTC', groups: usageGroups };
  await note('add up the usage of a minute', () => sumUsage(db, range, 10));
  await note('list the newest tasks of a project', () =>
    listTaskRows(db, { projectId: book.projectId }, { limit: 20, after: null }),
  );
  await note('list the queued tasks of a project', () =>
    listTaskRows(db, { projectId: book.projectId, status: 'queued' }, { limit: 20, after: null }),
  );
}

async function noteDelivery({ db, note }: Noted, deliveryId: string): Promise<void> {
  const token = newId('token');
  const claim = await note('claim a delivery', () => claimDelivery(db, { deliveryId, token, leaseSeconds: 60 }));
  if (!claim) throw new Error('there is no delivery');
  await note('read a delivery', () => readDelivery(db, deliveryId));
  await note('end a try of a delivery', () =>
    endDeliveryTry(db, {
      deliveryId,
      token,
      state: 'delivered',
      delaySeconds: 0,
      status: 200,
      errorClass: null,
      claimedAt: claim.claimedAt,
    }),
  );
}

async function noteSweeps({ db, note }: Noted): Promise<void> {
  await note('sweep expired chats', () => expireChats(db, 100));
  await note('sweep stale tasks', () => listStaleTasks(db, 100));
  await note('sweep unstarted tasks', () => claimUnstartedTasks(db, 100, 60));
  await note('sweep silent tasks', () => claimSilentTasks(db, { openSeconds: 60, silentSeconds: 120, limit: 100 }));
  await note('read of the unstarted tasks', () => readUnstarted(db, 10_000));
  await note('sweep overdue deliveries', () =>
    claimOverdueDeliveries(db, { lateSeconds: 5, wakeUpSeconds: 300, limit: 100, except: [], adoptedOnly: false }),
  );
}

const snapshot = { groups: ['default'], upstream: { openai: { model: 'm', cost_micro_usd: 1, parameters: {} } } };
const pollBounds = { leastSeconds: 5, mostSeconds: 60 };

const begin = (db: Database, taskId: string): Promise<AttemptMemory | null> =>
  beginAttempt(db, {
    attemptId: newId('att'),
    taskId,
    channelId,
    fence: newId('fence'),
    submitSeconds: 60,
    costMicroUsd: 0,
    probeSeconds: 30,
    adapter: 'openai',
  });

async function addChannel(db: Database): Promise<string> {
  const channelId = newId('chn');
  await run(
    db,
    `insert into channel (id, name, adapter, base_url, credential, groups)
     values ($1, $1, 'openai', 'http://127.0.0.1:1', 'sealed', '{default}')`,
    [channelId],
  );
  return channelId;
}
