import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from '@jest/globals';
import { assertSchemaVersion, contract, migrate } from '../../src/db/migrate.ts';
import { migrations } from '../../src/db/migrations/index.ts';
import { sqlFunctions } from '../../src/db/sql/functions.ts';
import { dumpSchema } from '../support/dump-schema.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { rowsOf, run } from './books.ts';

const names = migrations.map(({ name }) => name);
const everything = [...migrations, ...sqlFunctions].map(({ name }) => name);
const opened: TestDatabase[] = [];

async function scratch(options?: { migrated: boolean }): Promise<TestDatabase> {
  const database = await createTestDatabase(options);
  opened.push(database);
  return database;
}

afterEach(async () => {
  for (const database of opened.splice(0)) await database.drop();
});

describe('migrate', () => {
  it('creates the schema of this code in an empty database, and a second run changes nothing', async () => {
    const database = await (await scratch({ migrated: false })).open();
    expect(await migrate(database)).toEqual(everything);
    expect(await migrate(database)).toEqual([]);
    await expect(assertSchemaVersion(database)).resolves.toBeUndefined();
  });

  it('applies each migration and function once if several processes migrate at the same time', async () => {
    const empty = await scratch({ migrated: false });
    const processes = await Promise.all([empty.open(), empty.open(), empty.open()]);
    const applied = await Promise.all(processes.map((database) => migrate(database)));
    expect(applied.flat().sort()).toEqual([...everything].sort());
    for (const database of processes) await assertSchemaVersion(database);
  });

  it('creates the schema in dumps/schema.sql, which `npm run schema:dump` writes', async () => {
    const database = await (await scratch()).open();
    expect(await dumpSchema(database)).toBe(readFileSync(new URL('./dumps/schema.sql', import.meta.url), 'utf8'));
  });

  // docs/SCALING.md says what would have to change first.
  it('has tables that PostgreSQL refuses to partition by time, because their unique indexes have none', async () => {
    const database = await (await scratch()).open();
    for (const [table, key] of [
      ['ledger_entry', 'created_at'],
      ['ledger_entry', 'id'],
      ['task', 'created_at'],
      ['attempt', 'started_at'],
    ] as const) {
      await expect(
        run(database, `create table monthly (like ${table} including all) partition by range (${key})`),
      ).rejects.toThrow('unique constraint on partitioned table must include all partitioning columns');
    }
  });

  it('applies a function again if its file has changed', async () => {
    const database = await (await scratch()).open();
    await run(database, `update applied_function set checksum = 'of an earlier release' where name = 'end_chats'`);
    expect(await migrate(database)).toEqual(['end_chats']);
    await expect(assertSchemaVersion(database)).resolves.toBeUndefined();
  });

  it('leaves an empty database unchanged if a function cannot be applied', async () => {
    const database = await (await scratch({ migrated: false })).open();
    await run(database, `create function lock_accounts(a text[]) returns int language sql as 'select 1'`);
    await expect(migrate(database)).rejects.toThrow('cannot change return type');
    const tables = await rowsOf(database, `select tablename from pg_tables where schemaname = 'public' order by 1`);
    expect(tables).toEqual([{ tablename: 'applied_migration' }]);
    expect(await rowsOf(database, 'select name from applied_migration')).toEqual([]);
  });

  it('refuses a database of 0.1.0, or of a newer release, and changes nothing in it', async () => {
    const database = await (await scratch()).open();
    await run(database, `update applied_migration set name = '0001-ledger-and-tasks' where name = '0001-baseline'`);
    await run(database, 'delete from applied_function');
    await expect(migrate(database)).rejects.toThrow(
      /does not know: 0001-ledger-and-tasks\. It belongs to a newer release, or to 0\.1\.0, which cannot be upgraded/,
    );
    expect(await rowsOf(database, 'select name from applied_function')).toEqual([]);
  });
});

describe('assertSchemaVersion', () => {
  it('refuses an empty database and names the command to run', async () => {
    const database = await (await scratch({ migrated: false })).open();
    await expect(assertSchemaVersion(database)).rejects.toThrow(/lacks migrations: 0001-.*npm run migrate/);
  });

  it('refuses a schema that is older than the code', async () => {
    const database = await (await scratch()).open();
    await database.query('age', 'delete from applied_migration where name = $1', [names.at(-1)]);
    await expect(assertSchemaVersion(database)).rejects.toThrow(`lacks migrations: ${names.at(-1)}`);
  });

  it('refuses a schema that is newer than the code', async () => {
    const database = await (await scratch()).open();
    await database.query('advance', `insert into applied_migration (name) values ('9999-of-tomorrow')`);
    // Until the newer release's second step, this one may start on its schema.
    await expect(assertSchemaVersion(database)).resolves.toBeUndefined();
    await contract(database);
    await expect(assertSchemaVersion(database)).rejects.toThrow('newer than this code: it has 9999-of-tomorrow');
  });

  it('refuses a schema that lacks a function of the code, even while the next release migrates', async () => {
    const database = await (await scratch()).open();
    await run(database, `delete from applied_function where name = 'end_chats'`);
    for (const acceptNewer of [false, true])
      await expect(assertSchemaVersion(database, { acceptNewer })).rejects.toThrow(
        /functions: end_chats.*npm run migrate/,
      );
  });

  it('refuses another version of a function, except while the next release migrates', async () => {
    const database = await (await scratch()).open();
    await run(database, `update applied_function set checksum = 'of another release' where name = 'end_chats'`);
    await expect(assertSchemaVersion(database)).rejects.toThrow(/functions: end_chats.*npm run migrate/);
    await expect(assertSchemaVersion(database, { acceptNewer: true })).resolves.toBeUndefined();
  });
});

/** The PostgreSQL types that a property's declared column type may stand for. */
const fitting: Record<string, string> = {
  varchar: 'text',
  text: 'text',
  int: 'integer',
  integer: 'integer',
  bigint: 'bigint',
  boolean: 'boolean',
  timestamptz: 'timestamp with time zone',
  date: 'date',
  jsonb: 'jsonb',
  bytea: 'bytea',
  'text[]': 'ARRAY',
  'double precision': 'double precision',
};

describe('the entities', () => {
  it('agree with the migrated tables: every column, its nullability and its type', async () => {
    const database = await (await scratch()).open();
    const declared = [...(await database.orm()).orm.getMetadata().getAll().values()].flatMap((entity) =>
      entity.props.map((property) => {
        const wanted = (property.columnTypes[0] ?? '').replace(/\(\d+\)$/, '');
        return {
          table: entity.tableName,
          column: property.fieldNames[0] ?? '',
          nullable: property.nullable === true,
          type: fitting[wanted] ?? `unmapped ${wanted}`,
        };
      }),
    );
    const tables = [...new Set(declared.map(({ table }) => table))];
    const columns = await database.query<{ table: string; column: string; nullable: boolean; type: string }>(
      'columns',
      `select table_name::text as table, column_name::text as column, is_nullable = 'YES' as nullable, data_type::text as type
       from information_schema.columns where table_schema = 'public' and table_name = any ($1) order by 1, 2`,
      [tables],
    );
    const sorted = declared.sort((a, b) => compare(a.table, b.table) || compare(a.column, b.column));
    expect(tables.sort()).toEqual([
      'api_key',
      'api_key_secret',
      'channel',
      'channel_health',
      'credit_account',
      'project',
      'task_resolution',
    ]);
    expect(sorted).toEqual([...columns].sort((a, b) => compare(a.table, b.table) || compare(a.column, b.column)));
  });
});

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
