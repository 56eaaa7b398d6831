import pg from 'pg';
import { isStaleConnection } from '../domain/sqlstate.ts';
import { propertyOf } from './column-names.ts';
import type { DatabaseOptions, Send } from './database-options.ts';
import { asLibpqUrl } from './libpq-url.ts';
import { mayAskForLimits } from './pooler.ts';
import type { EntityManager, OpenOrm } from './orm.ts';

export type Query = Statements['query'];

/** Statements on the pool, or inside one transaction. */
export class Statements {
  readonly #send: Send;

  constructor(send: Send) {
    this.#send = send;
  }

  /**
   * Runs one statement, which each connection prepares once under its name. Columns arrive in camelCase, bigint as safe integers
   * and times as `Date`.
   */
  async query<Row extends object>(name: string, text: string, values: unknown[] = []): Promise<Row[]> {
    return toRows(await this.#send({ name, text, values, rowMode: 'array' }));
  }

  /** The first row of a statement, or null if it returns none. */
  async first<Row extends object>(name: string, text: string, values: unknown[]): Promise<Row | null> {
    return (await this.query<Row>(name, text, values))[0] ?? null;
  }

  /** Whether a statement returns a row. An update or delete needs `returning` for this. */
  async returnsRow(name: string, text: string, values: unknown[]): Promise<boolean> {
    return (await this.query(name, text, values)).length > 0;
  }

  /** The rows of an SQL function (`sql/functions`). */
  call<Row extends object>(name: string, values: unknown[]): Promise<Row[]> {
    return this.query<Row>(
      name,
      `select * from ${name}(${values.map((_, index) => `$${index + 1}`).join(', ')})`,
      values,
    );
  }

  /** The value of an SQL function that returns no table. */
  async value<T>(name: string, values: unknown[]): Promise<T> {
    const [row] = await this.call<Record<string, T>>(name, values);
    return Object.values(row ?? {})[0] as T;
  }
}

/** Statements of one transaction, prepared or by MikroORM, on one connection. */
export class Transaction extends Statements {
  readonly #open: () => Promise<EntityManager>;
  #entities: Promise<EntityManager> | undefined;

  constructor(send: Send, open: () => Promise<EntityManager>) {
    super(send);
    this.#open = open;
  }

  /** MikroORM in this transaction. It writes the changes of entities by `flush`, which also runs before the commit. */
  entities(): Promise<EntityManager> {
    return (this.#entities ??= this.#open());
  }

  /** Writes the changes of entities. */
  async flush(): Promise<void> {
    await (await this.#entities)?.flush();
  }
}

/**
 * Access to PostgreSQL: prepared statements, and MikroORM for migrations and for settings of one row that operators change (DECISIONS 60).
 * Both use one pool of connections, and a transaction has both.
 */
export class Database extends Statements {
  readonly #pool: pg.Pool;
  readonly #openOrm: () => Promise<OpenOrm>;
  readonly #traced: (send: Send) => Send;
  #orm: Promise<OpenOrm> | undefined;
  #beforeWork: ((inside: Transaction) => Promise<void>) | undefined;

  constructor(pool: pg.Pool, openOrm: () => Promise<OpenOrm>, traced: (send: Send) => Send = (send) => send) {
    super(traced((statement) => pool.query<unknown[]>(statement)));
    this.#pool = pool;
    this.#openOrm = openOrm;
    this.#traced = traced;
  }

  /**
   * Runs `work` in one transaction on one connection, given as a function and with all its methods. `timeoutMs` replaces the pool's
   * time limit for each of its statements.
   */
  async transaction<T>(
    begin: string,
    work: (query: Query, inside: Transaction) => Promise<T>,
    timeoutMs?: number,
  ): Promise<T> {
    const client = await this.#pool.connect();
    let broken: Error | undefined;
    // A text of several statements cannot be prepared, so the name is for the trace only.
    const control = this.#traced(({ text }) => client.query<unknown[]>({ text, rowMode: 'array' }));
    try {
      await control({ name: 'begin', text: begin, rowMode: 'array' });
      const patience = timeoutMs && { query_timeout: timeoutMs };
      const send: Send = (statement) => client.query<unknown[]>({ ...statement, ...patience });
      const inside = new Transaction(this.#traced(send), async () => (await this.orm()).entitiesOn(client));
      await this.#beforeWork?.(inside);
      const value = await work((...statement) => inside.query(...statement), inside);
      await inside.flush();
      await control({ name: 'commit', text: 'commit', rowMode: 'array' });
      return value;
    } catch (error) {
      await client.query('rollback').catch((lost: Error) => (broken = lost));
      if (error instanceof pg.DatabaseError && isStaleConnection(error.code ?? '')) broken ??= error;
      throw error;
    } finally {
      client.release(broken);
    }
  }

  /** The same database, whose transactions begin with `check`. What it throws ends them. */
  beginningWith(check: (inside: Transaction) => Promise<void>): Database {
    const checked = new Database(this.#pool, () => this.orm(), this.#traced);
    checked.#beforeWork = check;
    return checked;
  }

  /** The connections of the pool, and the statements that wait for one. */
  poolUse(): { idle: number; busy: number; waiting: number } {
    const { totalCount, idleCount, waitingCount } = this.#pool;
    return { idle: idleCount, busy: totalCount - idleCount, waiting: waitingCount };
  }

  /** Loads MikroORM at the first call, because it is a quarter of what a process loads and most servers never use it. */
  orm(): Promise<OpenOrm> {
    return (this.#orm ??= this.#openOrm());
  }

  /** MikroORM outside of a transaction, for reads: each statement takes a connection of the pool. */
  async entities(): Promise<EntityManager> {
    return (await this.orm()).entitiesOn(this.#pool);
  }

  async close(): Promise<void> {
    await this.#pool.end();
    await (await this.#orm)?.orm.close(true);
  }
}

/** Opens a connection pool, which connects at its first statement. */
export function openDatabase(options: DatabaseOptions): Database {
  const pool = new pg.Pool({
    connectionString: asLibpqUrl(options.url),
    max: options.poolMax,
    connectionTimeoutMillis: options.connectTimeoutMs,
    // The server cancels a statement first and says why. This limit is for a server that does not answer.
    query_timeout: options.statementTimeoutMs + 1_000,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    application_name: 'tollgate',
    ...optionsFor(options.url, options.statementTimeoutMs),
    types: { getTypeParser },
  });
  pool.on('error', (error) => options.onIdleError?.(error));
  // The connection of a checked-out client may break too. Its query then rejects, so this handler has nothing to do.
  pool.on('connect', (client) => client.on('error', () => undefined));
  const open = async (): Promise<OpenOrm> => {
    const { openOrm } = await import('./orm.ts');
    return openOrm(options, optionsFor(options.url, 300_000));
  };
  return new Database(pool, open, options.traces?.wrap);
}

/**
 * PostgreSQL sets none of these limits by default. Its compiler (`jit`) is on where it is installed, and takes seconds for the functions of chats,
 * whose plans it believes to be dear.
 */
const optionsFor = (url: string, statementTimeoutMs: number): { options?: string } =>
  mayAskForLimits(url)
    ? {
        options: `-c statement_timeout=${statementTimeoutMs} -c lock_timeout=2000 -c idle_in_transaction_session_timeout=10000 -c jit=off`,
      }
    : {};

/**
 * Columns get the names of `propertyOf`. The content of a JSON column stays as it is. A text
 * of several statements, such as a dump, has a list of results instead of rows.
 */
function toRows<Row extends object>({ fields = [], rows = [] }: Partial<pg.QueryArrayResult<unknown[]>>): Row[] {
  const names = fields.map(({ name }) => propertyOf(name));
  return rows.map((values) => {
    const row: Record<string, unknown> = {};
    for (let i = 0; i < names.length; i++) row[names[i] ?? ''] = values[i];
    return row as Row;
  });
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
