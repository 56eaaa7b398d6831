import { startGateway, type Gateway, type TestProject } from '../test/support/gateway.ts';
import { historyTask, writeHistory } from '../test/support/history.ts';
import { cpuSeconds } from './cpu-seconds.ts';
import { sendLoad, type Load, type LoadResult } from './http-load.ts';
import { profiled } from './profiled.ts';
import { median, medianAndRange, say, sayTable } from './report.ts';
import { startBenchServers } from './servers.ts';
import { startPart } from './start-part.ts';

/** One case alone, by its name, to profile it. */
const onlyCase = process.env['BENCH_CASE'];
/** `npm run bench -- poll --quick` takes two minutes. */
const isQuick = process.argv.includes('--quick');
const rounds = Number(process.env['BENCH_ROUNDS'] ?? (isQuick ? 3 : 5));
const secondsPerMeasure = Number(process.env['BENCH_SECONDS'] ?? (isQuick ? 2 : 3));
const connections = Number(process.env['BENCH_CONNECTIONS'] ?? 32);
/** Tasks that have ended before the first round. */
const endedTasks = Number(process.env['BENCH_HISTORY'] ?? 100_000);
const runningTasks = 2_000;
const hotTasks = 16;
const pollGoal = 1;
const catalogGoal = 0.8;

interface Measure extends LoadResult {
  /** CPU seconds per 1,000 requests. */
  cpu: number;
  postgresCpu: number;
}

interface Case {
  name: string;
  /** The bare program that the case is compared with. */
  bare: string;
  pid: number;
  load: Pick<Load, 'origin' | 'request'> & Partial<Load>;
}

const bareRead = 'bare Koa, a read';
const bareBuffer = 'bare Koa, a buffer';

/**
 * Measures polls of tasks and reads of the catalog through the gateway, beside a bare Koa that reads the task from PostgreSQL and one that
 * serves the catalog from memory, in interleaved rounds. Prints medians and a last line of ratios, and verifies the ledger.
 */
export async function benchPoll(): Promise<void> {
  const servers = await startBenchServers();
  const gateway = await startGateway({ workers: 0, env: { LOG_LEVEL: 'info', ...profiled } });
  const project = await gateway.project({ credits: 2 * endedTasks, rpm: 10_000_000 });
  await writeTasks(gateway, project);
  const reader = await startPart('reader', [gateway.env['DATABASE_URL'] ?? '']);
  const buffer = await startPart('buffer', [`${gateway.baseUrl}/api/v1/models`, project.apiKey]);
  try {
    const all = await listCases(gateway, project, { reader, buffer });
    const cases = all.filter(({ name }) => onlyCase === undefined || name === onlyCase);
    const results = new Map<string, Measure[]>(cases.map(({ name }) => [name, []]));
    for (let round = 0; round <= rounds; round++) {
      for (const one of cases) {
        const result = await measure(one, servers.postgresPid);
        // The first round is a warm-up.
        if (round > 0) results.get(one.name)?.push(result);
      }
      say(round === 0 ? 'warmed up' : `round ${round} of ${rounds}`);
    }
    report(cases, results);
    // They hold no credits, so the ledger would be broken.
    await gateway.database.query('bench-running-away', `delete from task where completed_at is null`);
    const books = await gateway.verifyLedger();
    say(`\nledger: ${books.ok ? 'no breach' : JSON.stringify(books.invariants)}`);
    if (!books.ok) process.exitCode = 1;
    sayRatios(cases, results);
  } finally {
    await reader.stop();
    await buffer.stop();
    await gateway.stop();
    await servers.close();
  }
}

/** A history of ended tasks with a prompt and a picture each, and tasks that run and that no worker continues. */
async function writeTasks(gateway: Gateway, project: TestProject): Promise<void> {
  await writeHistory(gateway.databaseUrl, project, { chats: 0, tasks: endedTasks });
  await gateway.database.query('bench-contents', `update task set input = $1, output = $2`, [
    JSON.stringify(input),
    JSON.stringify([output]),
  ]);
  await gateway.database.query(
    'bench-running',
    `insert into task (id, project_id, key_id, request_id, type, model_id, status, input, snapshot, credits_quoted, created_at,
                       started_at, deadline_at, admission, workflow_started_at, progress, attempts)
     select replace(id, 'task_0', 'task_1'), project_id, key_id, request_id, type, model_id, 'processing', input, snapshot, 1,
            clock_timestamp(), clock_timestamp(), clock_timestamp() + interval '1 day', 'reserved', clock_timestamp(), 40, 1
     from task order by id limit $1`,
    [runningTasks],
  );
  await gateway.database.query('bench-vacuum', 'vacuum analyze task');
}

const input = {
  prompt: 'A toll gate at dawn, in the style of a woodcut',
  size: '1024x1024',
  n: 1,
  quality: 'standard',
};
const output = {
  file_id: 'file_01k00000000000000000000000',
  mime_type: 'image/png',
  bytes: 1_203_412,
  width: 1_024,
  height: 1_024,
  duration: null,
  sha256: 'a'.repeat(64),
  expires_at: 1_900_000_000,
};

async function listCases(
  gateway: Gateway,
  project: TestProject,
  bare: Record<'reader' | 'buffer', { url: string; pid: number }>,
): Promise<Case[]> {
  const pid = gateway.pids()['api-1'] ?? 0;
  const authorization = `Bearer ${project.apiKey}`;
  const poll = (task: (n: number) => string, own: Record<string, string> = {}): Case['load'] => ({
    origin: gateway.baseUrl,
    request: (n) => ({ path: `/api/v1/tasks/${task(n)}`, headers: { authorization, ...own } }),
  });
  const models = (own: Record<string, string> = {}): Case['load'] => ({
    origin: gateway.baseUrl,
    request: () => ({ path: '/api/v1/models', headers: { authorization, ...own } }),
  });
  let visited = 0;
  // No task twice within minutes, and in an order that is not that of their pages: 7,919 is a prime.
  const many = (): string => historyTask(1 + ((visited++ * 7_919) % endedTasks));
  const hot = (n: number): string => historyTask(1 + (n % hotTasks));
  const running = (n: number): string => historyTask(1 + (n % runningTasks)).replace('task_0', 'task_1');
  const etagOf = async (path: string): Promise<string> => {
    const answer = await fetch(`${gateway.baseUrl}${path}`, {
      headers: { authorization, 'accept-encoding': 'identity' },
    });
    return answer.headers.get('etag') ?? '';
  };
  const unchanged = async (path: string): Promise<Case['load']> => {
    const headers = { authorization, 'if-none-match': await etagOf(path), 'accept-encoding': 'identity' };
    return { origin: gateway.baseUrl, request: () => ({ path, headers }), status: 304 };
  };
  return [
    {
      name: bareRead,
      bare: bareRead,
      pid: bare.reader.pid,
      load: { origin: bare.reader.url, request: () => ({ path: `/${many()}`, headers: { authorization } }) },
    },
    { name: 'poll, many ended tasks', bare: bareRead, pid, load: poll(many) },
    { name: 'poll, few ended tasks', bare: bareRead, pid, load: poll(hot) },
    { name: 'poll, running tasks', bare: bareRead, pid, load: poll(running) },
    {
      name: bareBuffer,
      bare: bareBuffer,
      pid: bare.buffer.pid,
      load: { origin: bare.buffer.url, request: () => ({ path: '/', headers: { authorization } }) },
    },
    { name: 'catalog', bare: bareBuffer, pid, load: models() },
    { name: 'catalog, br or gzip', bare: bareBuffer, pid, load: models({ 'accept-encoding': 'br, gzip' }) },
    { name: 'catalog, not modified', bare: bareBuffer, pid, load: await unchanged('/api/v1/models') },
  ];
}

async function measure({ pid, load }: Case, postgresPid: number): Promise<Measure> {
  const before = [cpuSeconds(pid), cpuSeconds(postgresPid)] as const;
  const result = await sendLoad({ path: '/', connections, seconds: secondsPerMeasure, ...load });
  const after = [cpuSeconds(pid), cpuSeconds(postgresPid)] as const;
  const perThousand = (index: 0 | 1) => ((after[index] - before[index]) * 1_000) / result.requests;
  return { ...result, cpu: perThousand(0), postgresCpu: perThousand(1) };
}

/** The ratio of a case to its bare program inside each round. */
const ratios = (results: Map<string, Measure[]>, { name, bare }: Case, field: keyof Measure): number[] =>
  (results.get(name) ?? []).map((result, round) => result[field] / (results.get(bare)?.[round]?.[field] ?? NaN));

function report(cases: readonly Case[], results: Map<string, Measure[]>): void {
  say(
    `\nmedians of ${rounds} rounds of ${secondsPerMeasure} s over ${connections} connections, ${endedTasks} ended tasks:\n`,
  );
  sayTable(
    ['', 'req/s', 'p50 ms', 'p99 ms', 'CPU s/1000', 'PostgreSQL CPU s/1000', 'req/s × bare', 'CPU × bare'],
    cases.map((one) => {
      const of = (field: keyof Measure): number => median((results.get(one.name) ?? []).map((result) => result[field]));
      const toBare = (field: keyof Measure): string =>
        one.name === one.bare ? '' : medianAndRange(ratios(results, one, field), 2);
      return [
        one.name,
        of('perSecond').toFixed(0),
        of('p50Ms').toFixed(2),
        of('p99Ms').toFixed(2),
        of('cpu').toFixed(3),
        of('postgresCpu').toFixed(3),
        toBare('perSecond'),
        toBare('cpu'),
      ];
    }),
  );
}

function sayRatios(cases: readonly Case[], results: Map<string, Measure[]>): void {
  const ratio = (name: string): number => {
    const one = cases.find((case_) => case_.name === name);
    return one ? median(ratios(results, one, 'perSecond')) : NaN;
  };
  const [polls, reads] = [ratio('poll, many ended tasks'), ratio('catalog')];
  if (!(polls >= pollGoal && reads >= catalogGoal)) process.exitCode = 1;
  say(
    `polls/s ratio=${polls.toFixed(2)} (goal: ${pollGoal}) few=${ratio('poll, few ended tasks').toFixed(2)} ` +
      `running=${ratio('poll, running tasks').toFixed(2)} catalog reads/s ratio=${reads.toFixed(2)} (goal: ${catalogGoal})`,
  );
}
