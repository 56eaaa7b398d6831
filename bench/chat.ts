import { writeHistory } from '../test/support/history.ts';
import { sayBooks, startChatBench } from './chat-bench.ts';
import { chatBody, chatHeaders, makeKeys } from './chat-load.ts';
import { cpuSeconds } from './cpu-seconds.ts';
import { sendLoad, type LoadResult } from './http-load.ts';
import { readPeers } from './peers.ts';
import { median, medianAndRange, say, sayTable } from './report.ts';

/** `npm run bench -- chat --quick` takes two minutes. */
const isQuick = process.argv.includes('--quick');
const rounds = Number(process.env['BENCH_ROUNDS'] ?? (isQuick ? 3 : 5));
const secondsPerMeasure = Number(process.env['BENCH_SECONDS'] ?? (isQuick ? 2 : 3));
const connectionCounts = (process.env['BENCH_CONNECTIONS'] ?? '1,32,128').split(',').map(Number);
/** Chats that have ended before the first round, because no installation has an empty table. */
const endedChats = Number(process.env['BENCH_HISTORY'] ?? 100_000);
const keyCount = 64;
const idleAddsMaxMs = 1.5;

interface Measure extends LoadResult {
  /** CPU seconds per 1,000 requests. */
  cpu: number;
  postgresCpu: number;
}

/**
 * Measures chats through the gateway (key, requests per minute, budget, exact billing) and through a bare Koa proxy on the same mock
 * upstream, in interleaved rounds. Prints medians and verifies the ledger at the end.
 */
export async function benchChat(): Promise<void> {
  const { servers, upstream, proxy, gateway, close } = await startChatBench({
    upstream: ['upstream'],
    apiProcesses: process.env['BENCH_API_PROCESSES'],
  });
  try {
    const book = await gateway.project({ credits: 2 * endedChats });
    await writeHistory(gateway.databaseUrl, book, { chats: endedChats, tasks: endedChats / 5 });
    const keys = await makeKeys(gateway, keyCount);
    const cases = [
      {
        name: 'direct',
        run: (connections: number) => measure({ url: upstream.url, pid: upstream.pid, keys: [''], connections }),
      },
      {
        name: 'bare Koa',
        run: (connections: number) => measure({ url: proxy.url, pid: proxy.pid, keys: [''], connections }),
      },
      ...readPeers(process.env['BENCH_PEERS'] ?? '', upstream.url).map(({ name, origin, path, headers, pid }) => ({
        name,
        run: (connections: number) => measure({ url: origin, path, pid, headers, keys: [''], connections }),
      })),
      ...[keys, keys.slice(0, 1)].map((some) => ({
        name: some.length === 1 ? 'tollgate, 1 key' : `tollgate, ${some.length} keys`,
        run: (connections: number) =>
          measure({
            url: gateway.baseUrl,
            path: '/api/v1/chat/completions',
            pid: gateway.pids()['api-1'] ?? 0,
            postgresPid: servers.postgresPid,
            keys: some,
            connections,
          }),
      })),
    ];
    const results = new Map<string, Measure[]>();
    for (let round = 0; round <= rounds; round++) {
      for (const connections of connectionCounts) {
        for (const { name, run } of cases) {
          const result = await run(connections);
          // The first round is a warm-up.
          if (round > 0)
            results.set(`${name}|${connections}`, [...(results.get(`${name}|${connections}`) ?? []), result]);
        }
      }
      say(round === 0 ? 'warmed up' : `round ${round} of ${rounds}`);
    }
    report(
      results,
      cases.map(({ name }) => name),
    );
    sayWhatIdleAdds(results, keys.length);
    const [charged] = await gateway.database.query<{ chats: number; entries: number }>(
      'bench-charged',
      `select count(*)::float8 as chats, (select count(*)::float8 from ledger_entry) as entries from reservation where state = 'settled'`,
    );
    await sayBooks(gateway, ` after ${charged?.chats} settled chats`);
  } finally {
    await close();
  }
}

async function measure(options: {
  url: string;
  path?: string;
  pid: number | null;
  headers?: Record<string, string>;
  postgresPid?: number;
  keys: readonly string[];
  connections: number;
}): Promise<Measure> {
  const cpuOf = () =>
    [
      options.pid === null ? NaN : cpuSeconds(options.pid),
      options.postgresPid === undefined ? 0 : cpuSeconds(options.postgresPid),
    ] as const;
  const before = cpuOf();
  const load = await sendLoad({
    origin: options.url,
    path: options.path ?? '/v1/chat/completions',
    connections: options.connections,
    seconds: secondsPerMeasure,
    request: (n) => ({
      headers: { ...chatHeaders(options.keys, n), ...options.headers },
      body: chatBody,
    }),
  });
  const after = cpuOf();
  const perThousand = (index: 0 | 1) => ((after[index] - before[index]) * 1_000) / load.requests;
  return { ...load, cpu: perThousand(0), postgresCpu: perThousand(1) };
}

function report(results: Map<string, Measure[]>, names: readonly string[]): void {
  const header = [
    '',
    'connections',
    'req/s',
    'p50 ms',
    'p99 ms',
    'CPU s/1000',
    'PostgreSQL CPU s/1000',
    'gateway CPU × bare Koa',
  ];
  const lines = connectionCounts.flatMap((connections) => {
    const of = (name: string, field: keyof Measure): number =>
      median((results.get(`${name}|${connections}`) ?? []).map((result) => result[field]));
    return names.map((name) => [
      name,
      String(connections),
      of(name, 'perSecond').toFixed(0),
      of(name, 'p50Ms').toFixed(2),
      of(name, 'p99Ms').toFixed(2),
      Number.isNaN(of(name, 'cpu')) ? '' : of(name, 'cpu').toFixed(3),
      name.startsWith('tollgate') ? of(name, 'postgresCpu').toFixed(3) : '',
      ['direct', 'bare Koa'].includes(name) ? '' : ratiosToBareKoa(results, name, connections),
    ]);
  });
  say(`\nmedians of ${rounds} rounds of ${secondsPerMeasure} s:\n`);
  sayTable(header, lines);
}

/** The ratio of CPU inside each round, as its median and its range. */
function ratiosToBareKoa(results: Map<string, Measure[]>, name: string, connections: number): string {
  const bare = results.get(`bare Koa|${connections}`) ?? [];
  const ratios = (results.get(`${name}|${connections}`) ?? []).map(({ cpu }, round) => cpu / (bare[round]?.cpu ?? NaN));
  return medianAndRange(ratios, 2);
}

/** With one connection the gateway is idle whenever a request arrives. */
function sayWhatIdleAdds(results: Map<string, Measure[]>, keys: number): void {
  const p50 = (name: string): number => median((results.get(`${name}|1`) ?? []).map(({ p50Ms }) => p50Ms));
  if (!connectionCounts.includes(1)) return;
  const added = p50(`tollgate, ${keys} keys`) - p50('direct');
  say(`\nan idle gateway adds ${added.toFixed(2)} ms p50 to a chat (goal: at most ${idleAddsMaxMs})`);
}
