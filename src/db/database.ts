import type { MikroORM } from '@mikro-orm/postgresql';
import pg from 'pg';

/** A statement prepared once per connection under its name. */
export interface Statement {
  name: string;
  text: string;
  /** How long its answer may take, where the pool's own patience is too short. The server's limit is set apart. */
  timeoutMs?: number;
}

export interface DatabaseOptions {
  url: string;
  poolMax: number;
  connectTimeoutMs: number;
  statementTimeoutMs: number;
  /** Told of connections that die while idle; the pool has replaced them by then. */
  onIdleError?: (error: Error) => void;
}

/** Access to PostgreSQL: prepared statements for the hot path, MikroORM for migrations and for what operators do. */
export class Database {
  readonly #pool: pg.Pool;
  readonly #openOrm: () => Promise<MikroORM>;
  #orm: Promise<MikroORM> | undefined;

  constructor(pool: pg.Pool, openOrm: () => Promise<MikroORM>) {
    this.#pool = pool;
    this.#openOrm = openOrm;
  }

  /** Runs one prepared statement. Columns arrive in camelCase, numbers of credits as safe integers, times as `Date`. */
  async query<Row extends object>({ name, text }: Statement, values: unknown[] = []): Promise<Row[]> {
    return toRows(await this.#pool.query<unknown[]>({ name, text, values, rowMode: 'array' }));
  }

  /** Runs `work` in one transaction on one connection. Never held across an upstream call. */
  async transaction<T>(begin: string, work: (query: Database['query']) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect();
    let broken: Error | undefined;
    try {
      await client.query(begin);
      const value = await work(async <Row extends object>(statement: Statement, values: unknown[] = []) => {
        const { name, text, timeoutMs } = statement;
        const patience = timeoutMs && { query_timeout: timeoutMs };
        return toRows<Row>(await client.query<unknown[]>({ name, text, values, rowMode: 'array', ...patience }));
      });
      await client.query('commit');
      return value;
    } catch (error) {
      await client.query('rollback').catch((lost: Error) => (broken = lost));
      throw error;
    } finally {
      client.release(broken);
    }
  }

  /** Loads MikroORM at the first call: it is a quarter of what a process loads, and the servers never use it. */
  orm(): Promise<MikroORM> {
    return (this.#orm ??= this.#openOrm());
  }

  async close(): Promise<void> {
    await this.#pool.end();
    await (await this.#orm)?.close(true);
  }
}

/** Opens a connection pool; connects lazily. */
export function openDatabase(options: DatabaseOptions): Database {
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.poolMax,
    connectionTimeoutMillis: options.connectTimeoutMs,
    // The server cancels first and says why; this one fires when the server itself does not answer.
    query_timeout: options.statementTimeoutMs + 1_000,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    application_name: 'tollgate',
    options: sessionSettings(options.statementTimeoutMs),
    types: { getTypeParser },
  });
  pool.on('error', (error) => options.onIdleError?.(error));
  // The connection of a checked-out client may die too; its query rejects, so there is nothing to add here.
  pool.on('connect', (client) => client.on('error', () => undefined));
  return new Database(pool, async () => {
    const { openOrm } = await import('./orm.ts');
    return openOrm(options, sessionSettings(300_000));
  });
}

/** All four default to "for ever" in PostgreSQL. */
const sessionSettings = (statementTimeoutMs: number): string =>
  `-c statement_timeout=${statementTimeoutMs} -c lock_timeout=2000 -c idle_in_transaction_session_timeout=10000`;

/**
 * The one rule for names: the column `task_id` becomes the property `taskId`. What a JSON column holds stays as it is. A text
 * of several statements, such as a dump, answers a list of results, which has no rows of its own.
 */
function toRows<Row extends object>({ fields = [], rows = [] }: Partial<pg.QueryArrayResult<unknown[]>>): Row[] {
  const names = fields.map(({ name }) => propertyOf(name));
  return rows.map((values) => {
    const row: Record<string, unknown> = {};
    for (let i = 0; i < names.length; i++) row[names[i] ?? ''] = values[i];
    return row as Row;
  });
}

const properties = new Map<string, string>();

/** Statements are few and so are their columns: each is renamed once in the life of the process. */
function propertyOf(column: string): string {
  const known = properties.get(column);
  if (known !== undefined) return known;
  const property = column.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
  properties.set(column, property);
  return property;
}

const bigintOid: number = pg.types.builtins.INT8;

function toSafeInteger(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new Error(`a bigint beyond 2^53: ${text}`);
  return value;
}

function getTypeParser(oid: number, format?: 'text' | 'binary'): (value: string) => unknown {
  // Counts of credits are bigint in SQL and stay far below 2^53.
  if (oid === bigintOid) return toSafeInteger;
  return pg.types.getTypeParser(oid, format === 'binary' ? 'text' : format) as (value: string) => unknown;
}
