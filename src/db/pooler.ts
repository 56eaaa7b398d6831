import pg from 'pg';
import { asLibpqUrl } from './libpq-url.ts';

/** What lies between this process and PostgreSQL, as two connections show it. */
export interface PoolerFacts {
  /** `none`: both connections lead to PostgreSQL itself. `session`: each keeps its server process. */
  mode: 'none' | 'session' | 'transaction' | 'statement';
  name: 'PgBouncer' | 'a pooler';
  /** It takes the time limits that a connection asks for (`options`). */
  takesOptions: boolean;
  /** A statement that one connection has prepared runs in whatever server process it gets. */
  keepsStatements: boolean;
  /** PostgreSQL cancels long statements of this role without being asked. */
  hasTimeLimit: boolean;
}

/** The URLs that lead to a pooler which refuses `options`. */
const withoutOptions = new Set<string>();

/** Whether connections to this URL ask for time limits. Where they cannot, those of the role count. */
export const mayAskForLimits = (url: string): boolean => !withoutOptions.has(url);

/**
 * Finds out whether `url` leads to a pooler, for all later connections of this process. Throws one sentence about a pooler that cannot serve.
 * Returns a warning, or null. A database that does not answer is left to the next statement.
 */
export async function meetPooler(url: string): Promise<string | null> {
  const facts = await readPoolerFacts(url).catch((error: unknown) => {
    if (error instanceof PoolerError) throw error;
    return null;
  });
  if (!facts) return null;
  if (!facts.takesOptions) withoutOptions.add(url);
  const refusal = poolerRefusal(facts);
  if (refusal !== null) throw new PoolerError(refusal);
  return poolerWarning(facts);
}

/** A pooler that cannot serve. */
class PoolerError extends Error {
  override readonly name = 'PoolerError';
}

/** Why this pooler cannot serve, in one sentence; null if it can. */
function poolerRefusal({ mode, name, keepsStatements }: PoolerFacts): string | null {
  const instead =
    'Use session mode, a direct connection, or PgBouncer 1.21 or newer in transaction mode with max_prepared_statements.';
  if (mode === 'statement')
    return `DATABASE_URL leads to ${name} in statement mode, which refuses transactions. ${instead}`;
  if (mode === 'transaction' && !keepsStatements)
    return `DATABASE_URL leads to ${name} in transaction mode, which loses prepared statements. ${instead}`;
  return null;
}

/** What an operator should change although the pooler serves; null if nothing. */
const poolerWarning = ({ mode, name, hasTimeLimit }: PoolerFacts): string | null =>
  mode === 'none' || hasTimeLimit
    ? null
    : `DATABASE_URL leads to ${name} in ${mode} mode, which does not pass time limits on: set statement_timeout, lock_timeout, idle_in_transaction_session_timeout and jit = off for the role`;

const probeMs = 5_000;

async function readPoolerFacts(url: string): Promise<PoolerFacts> {
  const withOptions = await connect(
    url,
    '-c statement_timeout=4321 -c lock_timeout=2000 -c idle_in_transaction_session_timeout=10000 -c jit=off',
  );
  const isRefused = withOptions instanceof Error && /unsupported startup parameter/.test(withOptions.message);
  if (withOptions instanceof Error && !isRefused) throw withOptions;
  const first = withOptions instanceof Error ? await connect(url) : withOptions;
  if (first instanceof Error) throw first;
  const second = await connect(url);
  try {
    if (second instanceof Error) throw second;
    const limit = await textOf(first, 'show statement_timeout');
    const takesOptions = !isRefused && limit === '4321ms';
    const pid = await textOf(first, 'select pg_backend_pid()::text');
    const direct = {
      mode: 'none',
      name: 'a pooler',
      takesOptions: !isRefused,
      keepsStatements: true,
      hasTimeLimit: true,
    } as const;
    if (takesOptions && 'processID' in first && String(first.processID) === pid) return direct;
    const name = isRefused || (await isPgBouncer(url)) ? 'PgBouncer' : 'a pooler';
    return { name, takesOptions, hasTimeLimit: limit !== '0', ...(await readMode(first, second)) };
  } finally {
    for (const client of [first, second]) if (!(client instanceof Error)) await client.end().catch(() => undefined);
  }
}

/** The first connection prepares a statement. While the second one holds the server process that did it, the statement runs in another. */
async function readMode(first: pg.Client, second: pg.Client): Promise<Pick<PoolerFacts, 'mode' | 'keepsStatements'>> {
  const probe = { name: 'tollgate-pooler-probe', text: 'select pg_backend_pid()::text as value' };
  try {
    await second.query('begin');
  } catch (error) {
    if (error instanceof Error && /statement pooling mode|transaction blocks not allowed/i.test(error.message))
      return { mode: 'statement', keepsStatements: false };
    throw error;
  }
  await second.query('commit');
  const { rows } = await first.query<{ value: string }>(probe);
  await second.query('begin');
  try {
    const held = await textOf(second, 'select pg_backend_pid()::text');
    if (held !== rows[0]?.value) return { mode: await sharedMode(first, second), keepsStatements: true };
    await first.query(probe);
    return { mode: 'transaction', keepsStatements: true };
  } catch (error) {
    if (error instanceof pg.DatabaseError && (error.code === '26000' || error.code === '42P05'))
      return { mode: 'transaction', keepsStatements: false };
    throw error;
  } finally {
    await second.query('rollback').catch(() => undefined);
  }
}

/** The server processes were not the same this time: with a busy pool the first connection may have got another one. */
async function sharedMode(first: pg.Client, second: pg.Client): Promise<'session' | 'transaction'> {
  const before = await textOf(first, 'select pg_backend_pid()::text');
  await second.query('rollback');
  const others = [
    await textOf(second, 'select pg_backend_pid()::text'),
    await textOf(first, 'select pg_backend_pid()::text'),
  ];
  return others[0] === before || others[1] !== before ? 'transaction' : 'session';
}

/** PgBouncer has a database of its own, which it opens for its operators only. */
async function isPgBouncer(url: string): Promise<boolean> {
  const own = new URL(url);
  own.pathname = '/pgbouncer';
  const client = await connect(own.href);
  if (client instanceof Error) return /not allowed|no such user/i.test(client.message);
  const answer = await client.query<{ version?: string }>('show version').catch(() => null);
  await client.end().catch(() => undefined);
  return /pgbouncer/i.test(answer?.rows[0]?.version ?? '');
}

async function connect(url: string, options?: string): Promise<pg.Client | Error> {
  const client = new pg.Client({
    connectionString: asLibpqUrl(url),
    connectionTimeoutMillis: probeMs,
    query_timeout: probeMs,
    application_name: 'tollgate',
    ...(options !== undefined && { options }),
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return client;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

async function textOf(client: pg.Client, text: string): Promise<string> {
  const { rows } = await client.query<Record<string, string>>(text);
  return Object.values(rows[0] ?? {})[0] ?? '';
}
