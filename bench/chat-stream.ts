import { loadavg } from 'node:os';
import { letModelsStream } from '../test/services/chat/streams.ts';
import { sayBooks, startChatBench } from './chat-bench.ts';
import { chatHeaders, chatMessages, makeKeys } from './chat-load.ts';
import { cpuSeconds } from './cpu-seconds.ts';
import { memoryMb } from './memory.ts';
import { median, medianAndRange, say, sayTable } from './report.ts';
import { sendStreams } from './stream-load.ts';

/** `npm run bench -- chat --stream --quick` takes three minutes, without `--quick` fourteen. */
const isQuick = process.argv.includes('--quick');
const rounds = Number(process.env['BENCH_ROUNDS'] ?? (isQuick ? 1 : 3));
const secondsPerMeasure = Number(process.env['BENCH_SECONDS'] ?? (isQuick ? 15 : 60));
const streams = Number(process.env['BENCH_CONNECTIONS'] ?? 500);
const tokensPerSecond = 30;
const secondsPerStream = 10;
const keyCount = 64;

/** What one program did with all streams. */
interface Measure {
  firstP50Ms: number;
  firstP95Ms: number;
  gapP50Ms: number;
  gapP99Ms: number;
  tokensPerSecond: number;
  /** CPU microseconds for each token, of the program and of PostgreSQL. */
  cpu: number;
  postgresCpu: number;
  /** kB of memory for each stream, above what the program took before. */
  memory: number;
}

/**
 * Streams chats through the gateway and through a bare Koa proxy from the same mock upstream, in interleaved rounds: 500 at the same time,
 * each of 300 tokens in ten seconds, so that 50 begin and 50 are settled in every second. Prints medians and verifies the ledger.
 */
export async function benchChatStream(): Promise<void> {
  const { servers, upstream, proxy, gateway, close } = await startChatBench({
    upstream: ['stream-upstream', String(tokensPerSecond)],
    proxyArgs: ['stream'],
  });
  try {
    const keys = await makeKeys(gateway, keyCount);
    await letModelsStream(gateway, keys[0] ?? '', [chatMessages.model]);
    const all = [
      { name: 'direct', url: upstream.url, pid: upstream.pid },
      { name: 'bare Koa', url: proxy.url, pid: proxy.pid },
      { name: 'tollgate', url: gateway.baseUrl, pid: gateway.pids()['api-1'] ?? 0, postgresPid: servers.postgresPid },
    ];
    const cases = all.filter(({ name }) => (process.env['BENCH_CASE'] ?? name) === name);
    const results = new Map<string, Measure[]>(cases.map(({ name }) => [name, []]));
    say(`load average before: ${loadavg()[0]?.toFixed(1)}`);
    for (const each of cases) await measure({ ...each, keys, seconds: 1 });
    say('warmed up');
    for (let round = 1; round <= rounds; round++) {
      for (const each of cases)
        results.get(each.name)?.push(await measure({ ...each, keys, seconds: secondsPerMeasure }));
      say(`round ${round} of ${rounds}`);
    }
    report(results);
    const [charged] = await gateway.database.query<{ chats: number; whole: number }>(
      'bench-charged',
      `select count(*)::float8 as chats, count(*) filter (where output_tokens = $1 and not usage_estimated)::float8 as whole
       from reservation where state = 'settled'`,
      [tokensPerSecond * secondsPerStream],
    );
    await sayBooks(gateway, `; ${charged?.whole} of ${charged?.chats} streams charged whole`);
    if (charged?.whole !== charged?.chats) process.exitCode = 1;
  } finally {
    await close();
  }
}

async function measure(options: {
  url: string;
  name: string;
  pid: number;
  postgresPid?: number;
  keys: readonly string[];
  seconds: number;
}): Promise<Measure> {
  const used = () => ({
    own: cpuSeconds(options.pid),
    postgres: options.postgresPid === undefined ? 0 : cpuSeconds(options.postgresPid),
  });
  const memoryBefore = memoryMb(options.pid);
  let before = used();
  let after = before;
  let memoryAfter = 0;
  const body = JSON.stringify({ ...chatMessages, max_tokens: tokensPerSecond * secondsPerStream, stream: true });
  const load = await sendStreams({
    origin: options.url,
    path: options.name === 'tollgate' ? '/api/v1/chat/completions' : '/v1/chat/completions',
    streams,
    secondsPerStream,
    seconds: options.seconds,
    request: (n) => ({
      headers: chatHeaders(options.keys, n),
      body,
    }),
    onWindow: (edge) => {
      if (edge === 'begin') before = used();
      else [after, memoryAfter] = [used(), memoryMb(options.pid)];
    },
  });
  return {
    firstP50Ms: load.first.quantile(0.5),
    firstP95Ms: load.first.quantile(0.95),
    gapP50Ms: load.gaps.quantile(0.5),
    gapP99Ms: load.gaps.quantile(0.99),
    tokensPerSecond: load.tokens / options.seconds,
    cpu: ((after.own - before.own) * 1_000_000) / load.tokens,
    postgresCpu: ((after.postgres - before.postgres) * 1_000_000) / load.tokens,
    memory: ((memoryAfter - memoryBefore) * 1_000) / streams,
  };
}

function report(results: ReadonlyMap<string, readonly Measure[]>): void {
  const valuesOf = (name: string, field: keyof Measure): number[] => (results.get(name) ?? []).map((one) => one[field]);
  const fields: [title: string, field: keyof Measure, digits: number][] = [
    ['first token p50 ms', 'firstP50Ms', 1],
    ['p95 ms', 'firstP95Ms', 1],
    ['gap p50 ms', 'gapP50Ms', 1],
    ['p99 ms', 'gapP99Ms', 1],
    ['tokens/s', 'tokensPerSecond', 0],
    ['CPU µs/token', 'cpu', 1],
    ['PostgreSQL CPU µs/token', 'postgresCpu', 1],
    ['kB/stream', 'memory', 0],
  ];
  say(
    `\n${streams} streams, medians and ranges of ${rounds} rounds of ${secondsPerMeasure} s; load average ${loadavg()[0]?.toFixed(1)}:\n`,
  );
  sayTable(
    ['', ...fields.map(([title]) => title)],
    [...results.keys()].map((name) => [
      name,
      ...fields.map(([, field, digits]) => medianAndRange(valuesOf(name, field), digits)),
    ]),
  );
  /** Compared inside each round, because other work on the machine changes. */
  const compared = (field: keyof Measure, other: string, compare: (own: number, others: number) => number): number =>
    median(valuesOf('tollgate', field).map((own, round) => compare(own, valuesOf(other, field)[round] ?? NaN)));
  const goals: [goal: string, reached: number, limit: number][] = [
    ['first token p95 over direct, ms', compared('firstP95Ms', 'direct', (own, others) => own - others), 30],
    ['gap p99, ms', median(valuesOf('tollgate', 'gapP99Ms')), 50],
    ['memory a stream, kB', median(valuesOf('tollgate', 'memory')), 200],
    ['CPU a token × bare Koa', compared('cpu', 'bare Koa', (own, others) => own / others), 2],
  ];
  say('');
  sayTable(
    ['Goal', 'Limit', 'Reached'],
    goals.map(([goal, reached, limit]) => [
      goal,
      String(limit),
      `${reached <= limit ? 'yes' : 'no'}: ${reached.toFixed(1)}`,
    ]),
  );
}
