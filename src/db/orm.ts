import { Migration, Migrator } from '@mikro-orm/migrations';
import { DefaultLogger, MikroORM, type Constructor, type Logger, type LoggerOptions } from '@mikro-orm/postgresql';
import { Kysely, PostgresDialect, type PostgresPoolClient } from 'kysely';
import type pg from 'pg';
import type { DatabaseOptions, StatementTraces } from './database-options.ts';
import { asLibpqUrl } from './libpq-url.ts';
import { entities } from './entities/index.ts';
import { migrations, sqlOf } from './migrations/index.ts';

/** Opens MikroORM. Its own connections, of which the first is opened at the first query, are those of migrations. */
export async function openOrm(options: DatabaseOptions, sessionSettings: { options?: string }) {
  const orm = await initOrm(options, sessionSettings);
  return {
    orm,
    /** MikroORM on a connection of a transaction, or on a pool, instead of its own connections. */
    entitiesOn(connections: pg.Pool | pg.PoolClient) {
      const em = orm.em.fork();
      em.setTransactionContext(kyselyOn(connections));
      return em;
    },
  };
}

export type OpenOrm = Awaited<ReturnType<typeof openOrm>>;
export type EntityManager = ReturnType<OpenOrm['entitiesOn']>;

const initOrm = (options: DatabaseOptions, sessionSettings: { options?: string }) =>
  MikroORM.init({
    clientUrl: options.url,
    entities,
    extensions: [Migrator],
    pool: { min: 0, max: 2 },
    // MikroORM itself takes no TLS from the URL.
    driverOptions: {
      ...sessionSettings,
      connectionString: asLibpqUrl(options.url),
      connectionTimeoutMillis: options.connectTimeoutMs,
    },
    migrations: {
      tableName: 'applied_migration',
      migrationsList: migrations.map(({ name, folder }) => ({ name, class: migrationOf(folder) })),
      snapshot: false,
      silent: true,
    },
    forceUtcTimezone: true,
    ...(options.traces && { loggerFactory: tracingLogger(options.traces) }),
  });

/** What MikroORM sends its statements by. Values arrive as those of prepared statements do, because the connections are the same. */
function kyselyOn(connections: pg.Pool | pg.PoolClient): Kysely<object> {
  if ('totalCount' in connections) return new Kysely({ dialect: new PostgresDialect({ pool: connections }) });
  // The transaction releases its connection, not MikroORM.
  const client = { query: connections.query.bind(connections), release: () => undefined } as PostgresPoolClient;
  const pool = { connect: () => Promise.resolve(client), end: () => Promise.resolve(), options: {} };
  return new Kysely({ dialect: new PostgresDialect({ pool }) });
}

/** MikroORM's own logger, which writes its warnings. It is told of every statement, and tells the trace instead of writing it. */
const tracingLogger =
  ({ ormStatementEnded }: StatementTraces) =>
  (options: LoggerOptions): Logger => {
    const logger = new DefaultLogger(options);
    logger.logQuery = ({ query = '', took = 0, level }) =>
      ormStatementEnded({ name: nameOf(query), ms: took, failed: level === 'error' });
    return logger;
  };

/** The command of a statement and its table, which MikroORM quotes. */
function nameOf(query: string): string {
  const [, command = 'statement'] = /^\s*(\w+)/.exec(query) ?? [];
  const [, table] = /\b(?:from|into|update)\s+(?:"\w+"\.)?"(\w+)"/i.exec(query) ?? [];
  return [command.toLowerCase(), table].filter(Boolean).join(' ');
}

function migrationOf(folder: string): Constructor<Migration> {
  return class extends Migration {
    override up(): void {
      this.addSql(sqlOf({ folder }));
    }
  };
}
