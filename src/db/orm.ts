import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Migration, Migrator } from '@mikro-orm/migrations';
import { DefaultLogger, MikroORM, type Constructor, type Logger, type LoggerOptions } from '@mikro-orm/postgresql';
import type { DatabaseOptions, StatementTraces } from './database-options.ts';
import { entities } from './entities/index.ts';
import { migrations } from './migrations/index.ts';

/** Opens MikroORM with its own small connection pool, which connects at the first query. */
export const openOrm = (options: DatabaseOptions, sessionSettings: string): Promise<MikroORM> =>
  MikroORM.init({
    clientUrl: options.url,
    entities,
    extensions: [Migrator],
    pool: { min: 0, max: 2 },
    driverOptions: { options: sessionSettings, connectionTimeoutMillis: options.connectTimeoutMs },
    migrations: {
      tableName: 'schema_migration',
      migrationsList: migrations.map(({ name, folder }) => ({ name, class: migrationOf(folder) })),
      snapshot: false,
      silent: true,
    },
    forceUtcTimezone: true,
    ...(options.traces && { loggerFactory: tracingLogger(options.traces) }),
  });

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
      for (const file of readdirSync(folder).sort()) this.addSql(readFileSync(join(folder, file), 'utf8'));
    }
  };
}
