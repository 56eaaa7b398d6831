import { setTimeout } from 'node:timers/promises';
import { runMaintenance } from '../src/services/scheduled-jobs/maintenance.ts';
import { beginAttempt, endAttempt } from '../src/db/tasks/attempts.ts';
import { expireChats } from '../src/db/chat/chat-ledger.ts';
import type { Database } from '../src/db/database.ts';
import { claimDelivery, claimOverdueDeliveries, endDeliveryTry, readDelivery } from '../src/db/callbacks/deliveries.ts';
import { listTaskRows } from '../src/db/tasks/list-task-rows.ts';
import { claimSilentTasks, claimUnstartedTasks, findTask, listStaleTasks } from '../src/db/tasks/tasks.ts';
import { verifyLedger } from '../src/db/ledger/verify-ledger.ts';
import { inLanes } from '../src/platform/in-lanes.ts';
import { openUpkeep } from '../test/services/scheduled-jobs/upkeep.ts';
import { admitted, newId, newTask, openBook, openLedger, taskEnd, type Book } from '../test/db/books.ts';
import { anAdmission, openChatLedger, settledEnd } from '../test/db/chat-books.ts';
import { createTestDatabase } from '../test/support/database.ts';
import { historyTask, writeHistory } from '../test/support/history.ts';
import { cpuSeconds } from './cpu-seconds.ts';
import { explainAll, plansDuring } from './plans.ts';
import { median, medianAndRange, say } from './report.ts';
import { startBenchServers } from './servers.ts';

const rounds = Number(process.env['BENCH_ROUNDS'] ?? 5);
/** Ended chats of the large history, which also has a fifth as many tasks. */
const largeChats = Number(process.env['BENCH_HISTORY'] ?? 1_000_000);
const smallChats = 10_000;
const ratioMax = 1.2;
const nightly = ['verify', 'maintenance'];
const lanes = 8;

interface Side {
  db: Database;
  /** New sessions of the same database. */
  open: () => Promise<Database>;
  book: Book;
  /** PostgreSQL's CPU in milliseconds for one operation, per round. */
  measured: Map<string, number[]>;
}

/**
 * Runs the same operations on a small and on a large history, in interleaved rounds, and compares PostgreSQL's CPU for each. No
 * operation may cost more because much has happened. Prints medians and a last line of ratios, and verifies both ledgers.
 */
export async function benchGrowth(): Promise<void> {
  const servers = await startBenchServers();
  try {
    // What autovacuum does is done between the rounds instead, so that it falls into no measurement.
    const small = await openSide(smallChats);
    const large = await openSide(largeChats);
    await small.db.query('bench-no-autovacuum', 'alter system set autovacuum = off');
    await small.db.query('bench-reload', 'select pg_reload_conf()');
    for (let round = 0; round <= rounds; round++) {
      for (const side of [small, large]) {
        await side.db.query('bench-vacuum', 'vacuum analyze hold, credit_account, api_key, task, delivery, attempt');
        for (const [name, { times, prepare, run }] of Object.entries(workloads)) {
          const prepared = await prepare?.(side, times);
          const began = cpuSeconds(servers.postgresPid);
          await run(side, times, prepared);
          const ms = ((cpuSeconds(servers.postgresPid) - began) * 1_000) / times;
          // The first round warms up.
          if (round > 0) side.measured.set(name, [...(side.measured.get(name) ?? []), ms]);
        }
      }
      say(round === 0 ? 'warmed up' : `round ${round} of ${rounds}`);
    }
    report(small, large);
    await comparePlans(small, large, servers.postgresLog);
    await sayChatsMeanwhile(large);
    for (const side of [small, large]) {
      const books = await verifyLedger(side.db, 60);
      say(`ledger: ${books.ok ? 'no breach' : JSON.stringify(books.invariants)}`);
      if (!books.ok) process.exitCode = 1;
    }
    sayRatios(small, large);
  } finally {
    await servers.close();
  }
}

async function openSide(chats: number): Promise<Side> {
  const began = performance.now();
  const database = await createTestDatabase();
  const db = await database.open({ poolMax: lanes, statementTimeoutMs: 3_600_000 });
  const book = await openBook(db, { credits: 2 * largeChats });
  await db.query(
    'bench-channel',
    `insert into channel (id, name, adapter, base_url, credential, groups)
     values ('chn_1', 'bench', 'openai', 'http://127.0.0.1:1', 'sealed', '{default}')`,
  );
  await writeHistory(database.url, book, { chats, tasks: chats / 5 });
  // Builds the summaries and writes the first checkpoint, as the first night does.
  await maintain(db);
  say(`${chats} chats and ${chats / 5} tasks written in ${((performance.now() - began) / 1_000).toFixed(0)} s`);
  return { db, open: () => database.open({ poolMax: lanes }), book, measured: new Map() };
}

async function maintain(db: Database): Promise<void> {
  const upkeep = await openUpkeep(db);
  await runMaintenance(upkeep).finally(() => upkeep.removeFolder());
}

interface Workload {
  /** How often it runs in one measurement. */
  times: number;
  /** What the operation needs and what is not measured. */
  prepare?: (side: Side, times: number) => Promise<string[]>;
  run: (side: Side, times: number, prepared?: string[]) => Promise<void>;
}

const repeat = (times: number, work: (n: number) => Promise<unknown>): Promise<void> =>
  inLanes(
    Array.from({ length: times }, (_, n) => n),
    lanes,
    async (n) => void (await work(n)),
  );

const workloads: Record<string, Workload> = {
  chat: {
    times: 1_500,
    run: async ({ db, book }, times) => {
      const chats = openChatLedger(db);
      await repeat(times, async () => {
        const admission = anAdmission(book, { rpm: 1_000_000 });
        await chats.admit(admission);
        await chats.end(settledEnd(admission, 1));
      });
    },
  },
  // With the reservation and the end of the task.
  create: {
    times: 500,
    run: async ({ db, book }, times) => {
      const ledger = openLedger(db, { inFlightPerProjectMax: 1_000_000 });
      await repeat(times, () => admitted(ledger, newTask(book, 1, { callbackUrl: 'https://example.com/hook' })));
      // Not left for the sweeps of later rounds.
      const queued = { projectId: book.projectId, status: 'queued' } as const;
      const open = (await listTaskRows(db, queued, { limit: times, after: null })).items;
      await repeat(open.length, (n) => ledger.finishTask(taskEnd(open[n]?.id ?? '', 'failed')));
    },
  },
  poll: {
    times: 4_000,
    run: ({ db }, times) => repeat(times, (n) => findTask(db, historyTask(1 + (n % 2_000)))),
  },
  list: {
    times: 500,
    run: ({ db, book }, times) =>
      repeat(times, () => listTaskRows(db, { projectId: book.projectId }, { limit: 20, after: null })),
  },
  callback: {
    times: 300,
    prepare: async ({ db, book }, times) => {
      const ledger = openLedger(db, { inFlightPerProjectMax: 1_000_000 });
      const ids: string[] = [];
      await repeat(times, async () => {
        const { taskId } = await admitted(ledger, newTask(book, 1, { callbackUrl: 'https://example.com/hook' }));
        const attempt = await beginAttempt(db, { ...anAttempt, attemptId: newId('att'), taskId });
        if (!attempt) throw new Error('the attempt did not begin');
        await endAttempt(db, attempt, { outcome: 'ok', outputs: [] });
        const end = taskEnd(taskId, 'succeeded');
        await ledger.finishTask(end);
        ids.push(end.deliveryId);
      });
      return ids;
    },
    run: async ({ db }, times, ids = []) =>
      repeat(times, async (n) => {
        const deliveryId = ids[n] ?? '';
        const token = newId('token');
        const claim = await claimDelivery(db, { deliveryId, token, leaseSeconds: 60 });
        if (!claim) throw new Error('there is no delivery');
        await readDelivery(db, deliveryId);
        const ended = { state: 'delivered', delaySeconds: 0, status: 200, errorClass: null } as const;
        await endDeliveryTry(db, { ...ended, deliveryId, token, claimedAt: claim.claimedAt });
      }),
  },
  sweep: {
    times: 150,
    run: ({ db }, times) =>
      repeat(times, async () => {
        await expireChats(db, 100);
        await listStaleTasks(db, 100);
        await claimUnstartedTasks(db, 100, 60);
        await claimSilentTasks(db, { openSeconds: 60, silentSeconds: 120, limit: 100 });
        const late = { lateSeconds: 5, wakeUpSeconds: 300, limit: 100, except: [], adoptedOnly: false };
        await claimOverdueDeliveries(db, late);
      }),
  },
  verify: {
    times: 10,
    run: ({ db }, times) => repeat(times, () => verifyLedger(db, 60, { full: false })),
  },
  maintenance: { times: 1, run: ({ db }) => maintain(db) },
};

const anAttempt = {
  channelId: 'chn_1',
  fence: 'fence',
  submitSeconds: 60,
  costMicroUsd: 0,
  probeSeconds: 30,
  adapter: 'openai',
};

/** Prints the statements whose plans differ between the two histories, and which way each goes. */
async function comparePlans(small: Side, large: Side, logFile: string): Promise<void> {
  let compared = 0;
  for (const [name, { prepare, run }] of Object.entries(workloads)) {
    if (nightly.includes(name)) continue;
    const [few, many] = [await plansOf(small), await plansOf(large)];
    for (const [statement, shapes] of few) {
      compared += 1;
      const others = many.get(statement) ?? new Set();
      if ([...others].every((shape) => shapes.has(shape))) continue;
      say(`${name}: another plan on the large history\n  ${statement.replaceAll(/\s+/g, ' ').slice(0, 200)}`);
      say(`  small: ${[...shapes].join(' | ')}\n  large: ${[...others].join(' | ')}`);
    }
    async function plansOf(side: Side): Promise<Map<string, Set<string>>> {
      await explainAll(side.db);
      const db = await side.open();
      // So often that PostgreSQL chooses its generic plans.
      const prepared = await prepare?.({ ...side, db }, planRuns);
      return plansDuring(logFile, () => run({ ...side, db }, planRuns, prepared));
    }
  }
  say(`\nplans of ${compared} statements compared`);
}

const planRuns = 60;

/** Chats each second while their latency is taken: about a tenth of what the tables can take. */
const steadyChatsPerSecond = 100;
const quietSeconds = 10;

/** Prints the p95 of chats in the database, quiet and while the nightly work runs over the large history. */
async function sayChatsMeanwhile(side: Side): Promise<void> {
  // A day's worth of chats, so that the night has something to do.
  await workloads['chat']?.run(side, 1_500);
  const nightly = (async () => {
    await setTimeout(quietSeconds * 1_000);
    const began = performance.now();
    await verifyLedger(side.db, 60, { full: false });
    await maintain(side.db);
    return { began, ended: performance.now() };
  })();
  const chats = openChatLedger(side.db);
  const took: { at: number; ms: number }[] = [];
  const running: Promise<unknown>[] = [];
  let isOver = false;
  void nightly.finally(() => (isOver = true)).catch(() => undefined);
  while (!isOver) {
    const at = performance.now();
    const admission = anAdmission(side.book, { rpm: 1_000_000 });
    const done = chats.admit(admission).then(() => chats.end(settledEnd(admission, 1)));
    running.push(done.then(() => took.push({ at, ms: performance.now() - at })));
    await setTimeout(1_000 / steadyChatsPerSecond);
  }
  await Promise.all(running);
  const { began, ended } = await nightly;
  const p95 = (times: { ms: number }[]): string => {
    const sorted = times.map(({ ms }) => ms).sort((a, b) => a - b);
    return `${(sorted[Math.floor(sorted.length * 0.95)] ?? NaN).toFixed(1)} ms`;
  };
  const quiet = took.filter(({ at }) => at < began);
  const meanwhile = took.filter(({ at }) => at >= began);
  say(
    `chats at ${steadyChatsPerSecond} a second: p95 ${p95(quiet)} quiet, ${p95(meanwhile)} during ${((ended - began) / 1_000).toFixed(1)} s of verification and maintenance`,
  );
}

function report(small: Side, large: Side): void {
  const range = ({ measured }: Side, name: string): string => medianAndRange(measured.get(name) ?? [], 3);
  say(`\nPostgreSQL CPU in ms for one operation, medians and ranges of ${rounds} rounds:\n`);
  say(`| operation | ${smallChats} chats | ${largeChats} chats |\n| --- | --- | --- |`);
  for (const name of Object.keys(workloads)) say(`| ${name} | ${range(small, name)} | ${range(large, name)} |`);
  say('');
}

function sayRatios(small: Side, large: Side): void {
  const ratios = Object.keys(workloads).map((name) => ({
    name,
    ratio: median(large.measured.get(name) ?? []) / median(small.measured.get(name) ?? []),
  }));
  // Verification and maintenance read what has changed since the last night, so they have bounds of their own (docs/BENCHMARKS.md).
  if (ratios.some(({ name, ratio }) => ratio > ratioMax && !nightly.includes(name))) process.exitCode = 1;
  say(`cost ratio ${ratios.map(({ name, ratio }) => `${name}=${ratio.toFixed(2)}`).join(' ')}`);
}
