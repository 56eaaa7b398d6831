import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createWorkflowClient, type WorkflowClient } from '../src/platform/temporal/workflow-client.ts';
import { startGateway, type Gateway } from '../test/support/gateway.ts';
import { createTemporalNamespace, type TemporalNamespace } from '../test/support/temporal-namespace.ts';
import { cpuSeconds, ownCpuSeconds } from './cpu-seconds.ts';
import { profiled } from './profiled.ts';
import { median, medianAndRange, say } from './report.ts';
import { startBenchServers } from './servers.ts';
import { countingStatements, countStatements, type CountedStatement } from './statements.ts';

/** `npm run bench -- media --quick` takes three minutes. */
const isQuick = process.argv.includes('--quick');
const rounds = Number(process.env['BENCH_ROUNDS'] ?? 5);
/** So many that the end of a round, in which no further tasks start, has little weight. */
const tasksPerRound = isQuick ? 300 : 1_000;
const countedTasks = 200;
const connections = 64;
/** The concurrency of the gateway's starter loop. */
const bareStartsAtOnce = 8;

/** The production defaults. The settings of the tests poll more often. */
export const asInProduction = {
  SWEEP_INTERVAL_SECONDS: '20',
  SWEEP_OPEN_SECONDS: '10',
  SWEEP_SILENT_SECONDS: '120',
  ATTEMPT_HEARTBEAT_TIMEOUT_SECONDS: '30',
  SUBMIT_TIMEOUT_SECONDS: '60',
  POLL_INTERVAL_MIN_MS: '500',
  POLL_INTERVAL_MAX_MS: '5000',
  STARTER_INTERVAL_MS: '200',
  LOG_LEVEL: 'info',
};

interface Round {
  perSecond: number;
  createP50Ms: number;
  createP95Ms: number;
  cpuMsPerTask: Record<string, number>;
  /** Of all processes but the sandbox, which plays the provider. */
  totalCpuMsPerTask: number;
}

/**
 * Measures tasks finished per second, create latency and CPU per task of the gateway and of a bare workflow (two no-op local activities,
 * one no-op activity, same queues and settings) on the same servers, in interleaved rounds. Prints medians and ranges, and the SQL
 * statements of a task.
 */
export async function benchMedia(): Promise<void> {
  const servers = await startBenchServers({ postgresSettings: countingStatements });
  const gateway = await startGateway({ env: { ...asInProduction, ...profiled } });
  const bare = await startBare(servers.temporalAddress);
  try {
    const { apiKey } = await gateway.project({ credits: 10_000_000 });
    const pids = gateway.pids();
    const watched = {
      api: pids['api-1'] ?? 0,
      worker: pids['worker-1'] ?? 0,
      temporal: servers.temporalPid,
      postgres: servers.postgresPid,
      sandbox: pids['sandbox'] ?? 0,
    };
    const barePids = { worker: bare.worker.pid ?? 0, temporal: servers.temporalPid, client: process.pid };
    await measureGateway(gateway, apiKey, watched, 50);
    await measureBare(bare, barePids, 50);
    const statements = await countStatements(gateway.database, () =>
      measureGateway(gateway, apiKey, watched, countedTasks),
    );
    const results: { gateway: Round[]; bare: Round[] } = { gateway: [], bare: [] };
    for (let round = 1; round <= rounds; round++) {
      results.gateway.push(await measureGateway(gateway, apiKey, watched, tasksPerRound));
      results.bare.push(await measureBare(bare, barePids, tasksPerRound));
      const [ours, theirs] = [results.gateway.at(-1), results.bare.at(-1)];
      say(
        `round ${round}: tollgate ${ours?.perSecond.toFixed(1)}/s, ${ours?.totalCpuMsPerTask.toFixed(1)} ms; ` +
          `bare ${theirs?.perSecond.toFixed(1)}/s, ${theirs?.totalCpuMsPerTask.toFixed(1)} ms of CPU per task`,
      );
    }
    report('tollgate', results.gateway);
    report('bare workflow', results.bare);
    const ratios = (of: (round: Round) => number): string =>
      medianAndRange(
        results.gateway.map((ours, round) => {
          const theirs = results.bare[round];
          return theirs ? of(ours) / of(theirs) : NaN;
        }),
        2,
      );
    say('\nratio to the bare workflow inside each round:');
    say(`  finished per second  ${ratios(({ perSecond }) => perSecond)}`);
    say(`  CPU of all processes ${ratios(({ totalCpuMsPerTask }) => totalCpuMsPerTask)}`);
    sayStatements(statements);
    const books = await gateway.verifyLedger();
    say(`ledger: ${books.ok ? 'no breach' : JSON.stringify(books.invariants)}`);
    if (!books.ok) process.exitCode = 1;
  } finally {
    await bare.stop();
    await gateway.stop();
    await servers.close();
  }
}

async function measureGateway(
  gateway: Gateway,
  apiKey: string,
  pids: Record<string, number>,
  tasks: number,
): Promise<Round> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const before = cpuOf(pids);
  const began = performance.now();
  const latencies: number[] = [];
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < tasks) {
      next += 1;
      latencies.push(await create(agent, gateway.baseUrl, apiKey, `bench ${began} ${next} [[latency=0]]`));
    }
  };
  await Promise.all(Array.from({ length: connections }, lane));
  for (;;) {
    const [row] = await gateway.database.query<{ open: number }>(
      'bench-open',
      'select count(*)::float8 as open from task where completed_at is null',
    );
    if ((row?.open ?? 0) === 0) break;
    await delay(100);
  }
  const seconds = (performance.now() - began) / 1000;
  agent.destroy();
  return roundOf(tasks, seconds, latencies, before, pids);
}

function create(agent: Agent, baseUrl: string, apiKey: string, prompt: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const began = performance.now();
    const call = request(
      `${baseUrl}/api/v1/images/generate`,
      { agent, method: 'POST', headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' } },
      (answer) => {
        answer.resume();
        answer.on('end', () => {
          if (answer.statusCode === 202) resolve(performance.now() - began);
          else reject(new Error(`The create was answered with ${answer.statusCode}`));
        });
      },
    );
    call.on('error', reject);
    call.end(JSON.stringify({ model: 'aurora-image-1', prompt }));
  });
}

interface Bare {
  workflows: WorkflowClient;
  namespace: TemporalNamespace;
  worker: ChildProcess;
  stop(): Promise<void>;
}

async function startBare(address: string): Promise<Bare> {
  const namespace = await createTemporalNamespace({ withClient: true });
  const tls = { caFile: '', certFile: '', keyFile: '' };
  const workflows = createWorkflowClient({ address, namespace: namespace.namespace, apiKey: '', tls });
  const worker = spawn(
    process.execPath,
    [fileURLToPath(new URL('./bare/worker.ts', import.meta.url)), address, namespace.namespace],
    { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, ...profiled } },
  );
  if (worker.stdout) await once(worker.stdout, 'data');
  return {
    workflows,
    namespace,
    worker,
    async stop() {
      // SIGINT and not SIGKILL, because the process writes its profile when it exits.
      worker.kill('SIGINT');
      await once(worker, 'exit');
      await workflows.close();
      await namespace.close();
    },
  };
}

async function measureBare(bare: Bare, pids: Record<string, number>, tasks: number): Promise<Round> {
  const before = cpuOf(pids);
  const began = performance.now();
  const latencies: number[] = [];
  const ends: Promise<unknown>[] = [];
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < tasks) {
      const taskId = `bare-${began}-${next++}`;
      const at = performance.now();
      // The same call as in the gateway's starter loop, which starts nearly all tasks of a burst.
      await bare.workflows.start(
        { taskId, projectId: 'bare', type: 'image', modelId: 'aurora-image-1', input: null },
        5_000,
      );
      latencies.push(performance.now() - at);
      ends.push(bare.namespace.client.workflow.getHandle(taskId).result());
    }
  };
  await Promise.all(Array.from({ length: bareStartsAtOnce }, lane));
  await Promise.all(ends);
  return roundOf(tasks, (performance.now() - began) / 1000, latencies, before, pids);
}

const cpuOf = (pids: Record<string, number>): Record<string, number> =>
  // All measured processes are children of this one, so its own CPU time is counted without them.
  Object.fromEntries(
    Object.entries(pids).map(([name, pid]) => [name, pid === process.pid ? ownCpuSeconds(pid) : cpuSeconds(pid)]),
  );

function roundOf(
  tasks: number,
  seconds: number,
  latencies: number[],
  before: Record<string, number>,
  pids: Record<string, number>,
): Round {
  const sorted = [...latencies].sort((a, b) => a - b);
  const after = cpuOf(pids);
  const perTask = Object.keys(pids).map(
    (name) => [name, (((after[name] ?? 0) - (before[name] ?? 0)) * 1000) / tasks] as const,
  );
  return {
    perSecond: tasks / seconds,
    createP50Ms: sorted[Math.floor(sorted.length * 0.5)] ?? 0,
    createP95Ms: sorted[Math.floor(sorted.length * 0.95)] ?? 0,
    cpuMsPerTask: Object.fromEntries(perTask),
    totalCpuMsPerTask: perTask.reduce((sum, [name, ms]) => sum + (name === 'sandbox' ? 0 : ms), 0),
  };
}

function report(name: string, results: Round[]): void {
  const range = (of: (round: Round) => number, digits = 1): string => medianAndRange(results.map(of), digits);
  const cpu = Object.keys(results[0]?.cpuMsPerTask ?? {}).map(
    (part) => `${part} ${range(({ cpuMsPerTask }) => cpuMsPerTask[part] ?? 0)}`,
  );
  say(`\n${name}, median (range) of ${results.length} rounds of ${tasksPerRound}:`);
  say(`  finished per second  ${range(({ perSecond }) => perSecond)}`);
  say(
    `  start latency        p50 ${median(results.map((r) => r.createP50Ms)).toFixed(0)} ms, p95 ${median(results.map((r) => r.createP95Ms)).toFixed(0)} ms`,
  );
  say(`  CPU ms per task      ${cpu.join(', ')}; all ${range((round) => round.totalCpuMsPerTask)}`);
}

/** The statements of loops, such as a sweep, are far fewer than tasks. */
const callsPerTaskMin = 0.05;

function sayStatements(statements: readonly CountedStatement[]): void {
  const perTask = statements
    .map(({ text, calls, ms }) => ({ text, calls: calls / countedTasks, ms: ms / countedTasks }))
    .filter(({ text, calls }) => calls >= callsPerTaskMin && !text.includes('bench-'));
  const sum = (of: 'calls' | 'ms', digits: number): string =>
    perTask.reduce((total, statement) => total + statement[of], 0).toFixed(digits);
  say(`\nstatements per task, in a burst of ${countedTasks} (calls that share a statement count as one):`);
  for (const { text, calls, ms } of perTask) {
    say(`  ${calls.toFixed(2)}  ${ms.toFixed(3)} ms  ${text.replace(/\s+/g, ' ').slice(0, 110)}`);
  }
  say(`  ${sum('calls', 2)}  ${sum('ms', 3)} ms  all`);
}
