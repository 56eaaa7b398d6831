import { snakeCase } from '../src/domain/json.ts';
import type { Database } from '../src/db/database.ts';
import type { AdminRead } from '../test/support/admin-reads.ts';
import type { Gateway } from '../test/support/gateway.ts';
import { median, say } from './report.ts';

/** Of each read. */
export const calls = 5;

/** One request, measured several times. The first time is cold: no connection has prepared its statements. */
export interface Measured {
  name: string;
  status: number;
  ms: number[];
  /** In PostgreSQL, of the fastest call, because other work on the machine slows the others. */
  databaseMs: number;
  blocks: number;
  /** The slowest statement of a call, and its milliseconds. */
  statement: string;
  statementMs: number;
}

export const readColumns = ['Read', 'asked', 'median ms', 'worst ms', 'database ms', 'blocks', 'the slowest'];

/** Of all reads of an action: the median of their medians, and the most of everything else. */
export function lineOf(action: string, all: readonly Measured[]): string[] {
  const most = (of: (one: Measured) => number): number => Math.max(...all.map(of));
  const slowest = all.find(({ ms }) => Math.max(...ms) === most((one) => Math.max(...one.ms)));
  return [
    action,
    String(all.length),
    median(all.map(({ ms }) => median(ms))).toFixed(0),
    most(({ ms }) => Math.max(...ms)).toFixed(0),
    most(({ databaseMs }) => databaseMs).toFixed(1),
    most(({ blocks }) => blocks).toFixed(0),
    slowest?.name.split(', ').slice(1).join(', ') ?? '',
  ];
}

/** The inputs in the path, and the others in the query. */
export function pathOf({ route, values }: AdminRead): string {
  const inPath = route.path.replace(/:(\w+)/g, (_, input: string) => encodeURIComponent(values[input] ?? ''));
  const query = Object.entries(values).filter(([input]) => !route.path.includes(`:${input}`));
  return withQuery(inPath, Object.fromEntries(query.map(([input, value]) => [snakeCase(input), value])));
}

export function withQuery(path: string, fields: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams(fields).toString();
  return query === '' ? path : `${path}${path.includes('?') ? '&' : '?'}${query}`;
}

/** One `GET` of either API, whose statements are counted by themselves for each call. */
export async function measureRead(
  gateway: Gateway,
  { name, path, token }: { name: string; path: string; token: string },
): Promise<Measured> {
  const ms: number[] = [];
  const counted: Counted[] = [];
  let status = 0;
  for (let call = 0; call < calls; call++) {
    await gateway.database.query('', 'select pg_stat_statements_reset()');
    const began = performance.now();
    ({ status } = await getPage(gateway, path, token));
    ms.push(performance.now() - began);
    counted.push(await countedSince(gateway.database));
  }
  const databaseMs = Math.min(...counted.map((call) => call.ms));
  const blocks = median(counted.map((call) => call.blocks));
  const { statement, statementMs } = counted.toSorted((a, b) => a.ms - b.ms)[0] ?? noStatement;
  say(
    `${name}: ${status}, ${ms.map((one) => one.toFixed(0)).join(', ')} ms, ${databaseMs.toFixed(1)} ms in the database, ${blocks.toFixed(0)} blocks`,
  );
  return { name, status, ms, databaseMs, blocks, statement, statementMs };
}

export async function getPage(
  gateway: Gateway,
  path: string,
  token: string,
): Promise<{ status: number; body: string }> {
  const answer = await fetch(`${gateway.baseUrl}${path}`, {
    headers: { authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(110_000),
  });
  return { status: answer.status, body: await answer.text() };
}

interface Counted {
  ms: number;
  blocks: number;
  statement: string;
  statementMs: number;
}

const noStatement = { statement: '', statementMs: 0 };

/** What the statements of the database took since the counters began again, and the slowest of them. */
async function countedSince(database: Database): Promise<Counted> {
  const [row] = await database.query<Counted>(
    '',
    `select coalesce(sum(total_exec_time), 0) as ms, coalesce(sum(shared_blks_hit + shared_blks_read), 0)::float8 as blocks,
       coalesce(max(total_exec_time), 0) as "statementMs", coalesce((array_agg(query order by total_exec_time desc))[1], '') as statement
     from pg_stat_statements
     where dbid = (select oid from pg_database where datname = current_database()) and query not like '%pg_stat_statements%'`,
  );
  return row ?? { ms: 0, blocks: 0, ...noStatement };
}
