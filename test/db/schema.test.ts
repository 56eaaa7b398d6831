import { afterEach, describe, expect, it } from '@jest/globals';
import { assertSchemaVersion, migrate } from '../../src/db/migrate.ts';
import { migrations } from '../../src/db/migrations/index.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

const names = migrations.map(({ name }) => name);
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
  it('brings an empty database to the schema of this code, and finds nothing to do the second time', async () => {
    const database = await (await scratch({ migrated: false })).open();
    expect(await migrate(database)).toEqual(names);
    expect(await migrate(database)).toEqual([]);
    await expect(assertSchemaVersion(database)).resolves.toBeUndefined();
  });

  it('applies each migration once when several processes migrate at the same moment', async () => {
    const empty = await scratch({ migrated: false });
    const processes = await Promise.all([empty.open(), empty.open(), empty.open()]);
    const applied = await Promise.all(processes.map((database) => migrate(database)));
    expect(applied.flat().sort()).toEqual([...names].sort());
    for (const database of processes) await assertSchemaVersion(database);
  });
});

describe('assertSchemaVersion', () => {
  it('refuses an empty database and says what to run', async () => {
    const database = await (await scratch({ migrated: false })).open();
    await expect(assertSchemaVersion(database)).rejects.toThrow(/lacks migrations: 0001-.*npm run migrate/);
  });

  it('refuses a schema that is older than the code', async () => {
    const database = await (await scratch()).open();
    await database.query({ name: 'age', text: 'delete from schema_migration where name = $1' }, [names.at(-1)]);
    await expect(assertSchemaVersion(database)).rejects.toThrow(`lacks migrations: ${names.at(-1)}`);
  });

  it('refuses a schema that is newer than the code', async () => {
    const database = await (await scratch()).open();
    await database.query({ name: 'advance', text: `insert into schema_migration (name) values ('9999-of-tomorrow')` });
    await expect(assertSchemaVersion(database)).rejects.toThrow('newer than this code: it has 9999-of-tomorrow');
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
  jsonb: 'jsonb',
  bytea: 'bytea',
  'text[]': 'ARRAY',
  'double precision': 'double precision',
};

describe('the entities', () => {
  it('agree with the migrated tables: every column, its nullability and its type', async () => {
    const database = await (await scratch()).open();
    const declared = [...database.orm.getMetadata().getAll().values()].flatMap((entity) =>
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
      {
        name: 'columns',
        text: `select table_name::text as table, column_name::text as column, is_nullable = 'YES' as nullable, data_type::text as type
               from information_schema.columns where table_schema = 'public' and table_name = any ($1) order by 1, 2`,
      },
      [tables],
    );
    const sorted = declared.sort((a, b) => compare(a.table, b.table) || compare(a.column, b.column));
    expect(tables.sort()).toEqual([
      'api_key',
      'api_key_secret',
      'audit_entry',
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
