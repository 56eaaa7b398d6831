import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Constructor } from '@mikro-orm/core';
import { Migration, Migrator } from '@mikro-orm/migrations';
import { MikroORM } from '@mikro-orm/postgresql';
import type { DatabaseOptions } from './database.ts';
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
  });

function migrationOf(folder: string): Constructor<Migration> {
  return class extends Migration {
    override up(): void {
      for (const file of readdirSync(folder).sort()) this.addSql(readFileSync(join(folder, file), 'utf8'));
    }
  };
}
