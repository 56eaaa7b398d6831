import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { startGateway, type Gateway } from '../test/support/gateway.ts';
import { addChatChannel, chatBody, makeKeys } from './chat-load.ts';
import { cpuSeconds } from './cpu-seconds.ts';
import { asInProduction } from './media.ts';
import { memoryMb, peakMemoryMb } from './memory.ts';
import { say } from './report.ts';
import { startBenchServers } from './servers.ts';
import { startPart } from './start-part.ts';

const minutes = Number(process.env['BENCH_MINUTES'] ?? (process.argv.includes('--quick') ? 3 : 24));
const secondsPerSample = Number(process.env['BENCH_SECONDS'] ?? 60);
const chatsPerSecond = 500;
const tasksPerSecond = 10;
const tasksPerSample = tasksPerSecond * secondsPerSample;
/** Starts of requests are spread over the second in steps of this length. */
const stepMs = 20;
const driftMax = 1.1;
const walPerChatMax = 2_000;
const apiPeakMaxMb = 400;

/** What one minute of the run looked like. */
interface Sample {
  chats: number;
  chatP50Ms: number;
  chatP95Ms: number;
  createP95Ms: number;
  /** Answers that are not 200 or 202. */
  refused: number;
  /** CPU seconds, by process. */
  cpu: Record<string, number>;
  /** Memory in MB at the end of the minute, by process. */
  memory: Record<string, number>;
  /** Of the chats, once the tasks' own share is taken off. */
  walBytes: number;
}

/**
 * Sends chats and tasks at a constant rate for a long time and compares the last minute with the first: nothing may grow because the
 * process has run for long or because rows have been written. Latencies count from the moment a request was due, so that a pause of
 * the gateway counts for all requests that it delays. Prints each minute, and verifies the ledger at the end.
 */
export async function benchSoak(): Promise<void> {
  const servers = await startBenchServers();
  const upstream = await startPart('upstream');
  const gateway = await startGateway({ env: asInProduction });
  try {
    await addChatChannel(gateway, upstream);
    const keys = await makeKeys(gateway, 64);
    const pids = gateway.pids();
    const watched = {
      api: pids['api-1'] ?? 0,
      worker: pids['worker-1'] ?? 0,
      postgres: servers.postgresPid,
      temporal: servers.temporalPid,
    };
    // So that the WAL of tasks can be told from that of chats.
    const walPerTask =
      (await takeSample(gateway, keys, watched, { chats: 0, tasks: tasksPerSecond })).walBytes / tasksPerSample;
    say(`WAL ${(walPerTask / 1_000).toFixed(1)} kB a task`);
    // The first minute warms up.
    const samples: Sample[] = [];
    for (let minute = 0; minute <= minutes; minute++) {
      const sample = await takeSample(gateway, keys, watched, { chats: chatsPerSecond, tasks: tasksPerSecond });
      sample.walBytes -= walPerTask * tasksPerSample;
      if (minute > 0) samples.push(sample);
      say(`${minute === 0 ? 'warm-up' : `minute ${minute}`}: ${lineOf(sample)}`);
    }
    await untilTasksEnded(gateway);
    const peakMb = peakMemoryMb(watched.api);
    const books = await gateway.verifyLedger();
    say(`ledger: ${books.ok ? 'no breach' : JSON.stringify(books.invariants)}`);
    if (!books.ok) process.exitCode = 1;
    checkDrift(samples, peakMb);
  } finally {
    await gateway.stop();
    await upstream.stop();
    await servers.close();
  }
}

/** Requests per second. */
interface Rates {
  chats: number;
  tasks: number;
}

async function takeSample(
  gateway: Gateway,
  keys: string[],
  watched: Record<string, number>,
  rates: Rates,
): Promise<Sample> {
  const cpuBefore = ofEach(watched, cpuSeconds);
  const walBefore = await walPosition(gateway);
  const load = await sendSteadily(gateway.baseUrl, keys, rates);
  const walAfter = await walPosition(gateway);
  const cpuAfter = ofEach(watched, cpuSeconds);
  return {
    ...load,
    cpu: Object.fromEntries(Object.entries(cpuAfter).map(([name, at]) => [name, at - (cpuBefore[name] ?? 0)])),
    memory: ofEach(watched, memoryMb),
    walBytes: walAfter - walBefore,
  };
}

const ofEach = (watched: Record<string, number>, value: (pid: number) => number): Record<string, number> =>
  Object.fromEntries(Object.entries(watched).map(([name, pid]) => [name, value(pid)]));

type Load = Pick<Sample, 'chats' | 'chatP50Ms' | 'chatP95Ms' | 'createP95Ms' | 'refused'>;

/** Sends requests when they are due, however long earlier ones take, and resolves when all have their answer. */
async function sendSteadily(origin: string, keys: string[], rates: Rates): Promise<Load> {
  const pool = new Pool(origin, { connections: 256, pipelining: 1 });
  const [chats, creates]: [number[], number[]] = [[], []];
  const running = new Set<Promise<void>>();
  let refused = 0;
  let next = 0;
  const send = (path: string, body: string, wanted: number, times: number[], dueAt: number): void => {
    const authorization = `Bearer ${keys[next++ % keys.length]}`;
    const headers = { 'content-type': 'application/json', authorization };
    const sent = pool.request({ method: 'POST', path, headers, body }).then(async (answer) => {
      await answer.body.dump();
      times.push(performance.now() - dueAt);
      if (answer.statusCode !== wanted) refused += 1;
    });
    const done = sent.catch(() => void (refused += 1)).finally(() => running.delete(done));
    running.add(done);
  };
  const began = performance.now();
  const steps = (secondsPerSample * 1_000) / stepMs;
  const isDue = (step: number, perSecond: number): number =>
    Math.floor((((step + 1) * stepMs) / 1_000) * perSecond) - Math.floor(((step * stepMs) / 1_000) * perSecond);
  for (let step = 0; step < steps; step++) {
    const dueAt = began + step * stepMs;
    const early = dueAt - performance.now();
    if (early > 0) await sleep(early);
    for (let n = isDue(step, rates.chats); n > 0; n--) send('/api/v1/chat/completions', chatBody, 200, chats, dueAt);
    for (let n = isDue(step, rates.tasks); n > 0; n--) send('/api/v1/images/generate', taskBody, 202, creates, dueAt);
  }
  await Promise.all(running);
  await pool.close();
  return {
    chats: chats.length,
    chatP50Ms: quantile(chats, 0.5),
    chatP95Ms: quantile(chats, 0.95),
    createP95Ms: quantile(creates, 0.95),
    refused,
  };
}

const taskBody = JSON.stringify({ model: 'aurora-image-1', prompt: 'a toll gate in the rain' });

const quantile = (values: number[], share: number): number =>
  values.sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? NaN;

async function walPosition(gateway: Gateway): Promise<number> {
  const [row] = await gateway.database.query<{ at: number }>(
    'bench-wal',
    `select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 as at`,
  );
  return row?.at ?? 0;
}

/** The tasks of the last seconds still run. */
async function untilTasksEnded({ database }: Gateway): Promise<void> {
  const open = `select 1 from task where completed_at is null limit 1`;
  for (let waits = 0; waits < 120 && (await database.returnsRow('bench-open', open, [])); waits++) await sleep(1_000);
}

const lineOf = ({ chatP50Ms, chatP95Ms, createP95Ms, refused, cpu, memory, walBytes, chats }: Sample): string =>
  [
    `chat p50 ${chatP50Ms.toFixed(1)} p95 ${chatP95Ms.toFixed(1)} ms, create p95 ${createP95Ms.toFixed(0)} ms, ${refused} refused`,
    `CPU s ${fieldsOf(cpu, 1)}`,
    `MB ${fieldsOf(memory, 0)}`,
    `WAL ${(walBytes / chats).toFixed(0)} bytes a chat`,
  ].join('; ');

const fieldsOf = (values: Record<string, number>, digits: number): string =>
  Object.entries(values)
    .map(([name, value]) => `${name} ${value.toFixed(digits)}`)
    .join(' ');

function checkDrift(samples: readonly Sample[], peakMb: number): void {
  const [first, last] = [samples[0], samples.at(-1)];
  if (!first || !last) return;
  const all = ({ cpu }: Sample): number => Object.values(cpu).reduce((sum, seconds) => sum + seconds, 0);
  const wal =
    samples.reduce((sum, { walBytes }) => sum + walBytes, 0) / samples.reduce((sum, { chats }) => sum + chats, 0);
  const refused = samples.reduce((sum, sample) => sum + sample.refused, 0);
  const ratios = {
    p50: last.chatP50Ms / first.chatP50Ms,
    p95: last.chatP95Ms / first.chatP95Ms,
    cpu: all(last) / all(first),
  };
  const isGood =
    Object.values(ratios).every((ratio) => ratio <= driftMax) &&
    wal <= walPerChatMax &&
    peakMb <= apiPeakMaxMb &&
    refused === 0;
  if (!isGood) process.exitCode = 1;
  say(
    `soak last/first p50=${ratios.p50.toFixed(2)} p95=${ratios.p95.toFixed(2)} cpu=${ratios.cpu.toFixed(2)} ` +
      `wal=${wal.toFixed(0)} api_peak_mb=${peakMb.toFixed(0)} refused=${refused}`,
  );
}
