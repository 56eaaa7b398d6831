import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import type { Database } from '../../src/db/database.ts';
import { dropDetailPartition, ensureDetailPartitions } from '../../src/db/detail-rows.ts';
import { migrate } from '../../src/db/migrate.ts';
import { findRuntimeRole, runtimePrivileges } from '../../src/db/runtime-role.ts';
import { awayFromMidnight } from '../support/away-from-midnight.ts';
import { createTestDatabase, runtimeRole, type TestDatabase } from '../support/database.ts';
import { openBook, rowsOf, run } from './books.ts';

await awayFromMidnight();

let scratch: TestDatabase;
let owner: Database;
let runtime: Database;

beforeAll(async () => {
  scratch = await createTestDatabase();
  owner = await scratch.open();
  runtime = await scratch.open({ via: scratch.runtimeUrl });
  await openBook(owner, { credits: 10 });
  await ensureDetailPartitions(runtime);
});
afterAll(() => scratch.drop());

const insufficientPrivilege = '42501';
const today = new Date().toISOString().slice(0, 10).replaceAll('-', '');

describe('the runtime role', () => {
  it.each([
    ...['ledger_entry', 'audit_entry'].flatMap((table) => [
      `delete from ${table}`,
      `truncate ${table}`,
      `alter table ${table} disable trigger all`,
      `drop trigger ${table}_append_only on ${table}`,
      `drop table ${table} cascade`,
    ]),
    'update ledger_entry set credits = 0',
    `update audit_entry set actor = 'nobody'`,
    'delete from credit_account',
    'delete from api_key',
    'update ledger_checkpoint_account set credits = 0',
    'alter table task add column extra int',
    'drop table task cascade',
    'truncate task cascade',
    'create trigger extra before insert on task execute function notify_change()',
    'create table extra (id int)',
    'create table extra as select 1',
    'create table extra partition of api_detail default',
    'create table extra (project_id text references project (id))',
    'create schema extra',
    'create view extra as select 1',
    'create sequence extra',
    'create type extra as (id int)',
    'create extension pg_trgm',
    `create function extra() returns int language sql as 'select 1'`,
    'create or replace function api_detail_partition(p_day date) returns text language sql as $$ select null $$',
    'alter function drop_api_detail_partition(int) security invoker',
    'drop function refuse_change cascade',
    'set session_replication_role = replica',
    'insert into schema_migration (name) values (1)',
    `update schema_function set checksum = ''`,
    'update retention_floor set api_detail_days = 1',
    'delete from retention_floor',
    'delete from api_detail',
    `drop table api_detail_${today}`,
    `alter table api_detail detach partition api_detail_${today}`,
    `insert into api_detail_${today} (at, request_id, method, route, status, ms) values (now(), 1, 1, 1, 1, 1)`,
    `select setval('ledger_entry_id_seq', 1)`,
  ])('is refused: %s', async (statement) => {
    await expect(run(runtime, statement)).rejects.toMatchObject({ code: insufficientPrivilege });
  });

  it('has exactly the listed privileges on every table, and none on a partition or sequence', async () => {
    const granted = await rowsOf<{ name: string; privileges: string }>(
      owner,
      `select c.relname::text as name, string_agg(lower(a.privilege_type), ', ' order by
         array_position('{SELECT,INSERT,UPDATE,DELETE}', a.privilege_type)) as privileges
       from pg_class c cross join lateral aclexplode(c.relacl) a
       where c.relnamespace = 'public'::regnamespace and a.grantee in (0, '${runtimeRole}'::regrole) group by 1`,
    );
    expect(Object.fromEntries(granted.map(({ name, privileges }) => [name, privileges]))).toEqual(runtimePrivileges);
    const tables = await rowsOf<{ name: string }>(
      owner,
      `select c.relname::text as name from pg_class c
       where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v') and not c.relispartition`,
    );
    expect(tables.map(({ name }) => name).sort()).toEqual(Object.keys(runtimePrivileges).sort());
  });

  it('may call every function, and other roles none', async () => {
    const [counted] = await rowsOf(
      owner,
      `select count(*) as functions,
         count(*) filter (where has_function_privilege('${runtimeRole}', oid, 'execute')) as of_the_role,
         count(*) filter (where has_function_privilege('pg_monitor', oid, 'execute')) as of_others
       from pg_proc where pronamespace = 'public'::regnamespace`,
    );
    expect(counted).toEqual({ functions: counted?.['functions'], ofTheRole: counted?.['functions'], ofOthers: 0 });
  });

  it('adds ledger and audit entries', async () => {
    await openBook(runtime, { credits: 5 });
    expect(await rowsOf(runtime, `select count(*) as n from ledger_entry where kind = 'topup'`)).toEqual([{ n: 2 }]);
  });
});

describe('a function that runs as the owner', () => {
  it('has a fixed search path in which temporary tables come last', async () => {
    expect(
      await rowsOf(
        owner,
        `select proname::text as name, proconfig as settings from pg_proc where prosecdef order by 1`,
      ),
    ).toEqual(
      ['analyze_imported', 'drop_api_detail_partition', 'ensure_api_detail_partitions'].map((name) => ({
        name,
        settings: ['search_path=public, pg_temp'],
      })),
    );
  });

  it('counts the rows of an import for the plans of every session', async () => {
    const counted = () =>
      rowsOf(owner, `select reltuples::int as n from pg_class where oid = 'ledger_entry'::regclass`);
    await run(runtime, 'select analyze_imported()');
    const entries = await rowsOf(owner, 'select count(*)::int as n from ledger_entry');
    expect(await counted()).toEqual(entries);
  });

  it('does not drop a day of details that is younger than the retention', async () => {
    await expect(dropDetailPartition(runtime, 29)).rejects.toThrow(/API_DETAIL_RETENTION_DAYS is 29 .*npm run migrate/);
    for (const days of ['0', '-40', '-2147483648', 'null'])
      await expect(run(runtime, `select * from drop_api_detail_partition(${days})`)).rejects.toMatchObject({
        code: '55000',
      });
    expect(await dropDetailPartition(runtime, 30)).toBeNull();
  });

  it('ignores the tables that a session puts before ours', async () => {
    await runtime.transaction('begin', async (query) => {
      await query('', 'create temporary table retention_floor as select 0 as api_detail_days');
      await query('', 'set local search_path = pg_temp, public');
      await query('', 'savepoint before');
      await expect(query('', 'select * from drop_api_detail_partition(0)')).rejects.toMatchObject({ code: '55000' });
      await query('', 'rollback to savepoint before');
    });
  });

  it('creates and drops days that the runtime role writes and reads through api_detail only', async () => {
    await run(
      owner,
      `create table api_detail_20200101 partition of api_detail for values from ('2020-01-01') to ('2020-01-02')`,
    );
    await run(owner, `drop table api_detail_${today}`);
    expect(await ensureDetailPartitions(runtime)).toBe(1);
    for (const at of ['2020-01-01 12:00:00+00', 'now'])
      await run(
        runtime,
        `insert into api_detail (at, request_id, method, route, status, ms) values ($1, 'req_1', 'GET', '/', 200, 1)`,
        [at],
      );
    expect(await rowsOf(runtime, 'select count(*) as n from api_detail')).toEqual([{ n: 2 }]);
    expect(await dropDetailPartition(runtime, 30)).toEqual({ dropped: 'api_detail_20200101', detailRows: 1 });
    expect(await rowsOf(runtime, 'select count(*) as n from api_detail')).toEqual([{ n: 1 }]);
  });
});

describe('migrate', () => {
  const created: string[] = [];
  const aRole = async (options = ''): Promise<string> => {
    const name = `test_role_${randomBytes(4).toString('hex')}`;
    await run(owner, `create role ${name} ${options}`);
    created.push(name);
    return name;
  };
  afterEach(async () => {
    for (const name of created.splice(0).reverse()) {
      await run(owner, `drop owned by ${name}`);
      await run(owner, `drop role ${name}`);
    }
  });
  const privilegesOn = async (table: string, role: string): Promise<unknown[]> =>
    (
      await rowsOf<{ name: string }>(
        owner,
        `select a.privilege_type as name from pg_class c cross join lateral aclexplode(c.relacl) a
         where c.oid = '${table}'::regclass and a.grantee = '${role}'::regrole order by 1`,
      )
    ).map(({ name }) => name);

  it('takes back what the runtime role or everybody was given beside it, and repeats what it needs', async () => {
    const role = await aRole();
    await run(owner, `grant all on ledger_entry, api_detail_${today} to ${role}`);
    await run(owner, 'grant delete on ledger_entry to public');
    await run(owner, 'grant create on schema public to public');
    await run(owner, 'grant execute on function add_credits to public');
    await migrate(owner, { runtimeRole: role });
    expect(await privilegesOn('ledger_entry', role)).toEqual(['INSERT', 'SELECT']);
    expect(await privilegesOn(`api_detail_${today}`, role)).toEqual([]);
    const other = await aRole();
    expect(
      await rowsOf(
        owner,
        `select has_table_privilege('${other}', 'ledger_entry', 'delete') as deletes,
           has_schema_privilege('${other}', 'public', 'create') as creates,
           has_function_privilege('${other}', 'add_credits(text, bigint, text)', 'execute') as calls`,
      ),
    ).toEqual([{ deletes: false, creates: false, calls: false }]);
    expect(await migrate(owner, { runtimeRole: role })).toEqual([]);
    expect(await privilegesOn('ledger_entry', role)).toEqual(['INSERT', 'SELECT']);
  });

  it('gives the runtime role nothing on a table that it does not know', async () => {
    await run(owner, 'create table of_tomorrow (id int)');
    await migrate(owner, { runtimeRole });
    expect(await privilegesOn('of_tomorrow', runtimeRole)).toEqual([]);
    await run(owner, 'drop table of_tomorrow');
  });

  it('stores the retention of API details, and keeps it when it is told none', async () => {
    const floor = () => rowsOf(owner, 'select api_detail_days as days from retention_floor');
    await migrate(owner, { detailDays: 7 });
    await migrate(owner);
    expect(await floor()).toEqual([{ days: 7 }]);
    await migrate(owner, { detailDays: 30 });
    expect(await floor()).toEqual([{ days: 30 }]);
  });

  const superuser = () => new URL(scratch.url).username;
  it.each([
    ['is a superuser', () => aRole('superuser')],
    ['may create roles', () => aRole('createrole')],
    ['is a member of', () => aRole(`in role "${superuser()}"`)],
    [
      'owns of_the_role',
      async () => {
        const role = await aRole();
        await run(owner, 'create table of_the_role (id int)');
        await run(owner, `alter table of_the_role owner to ${role}`);
        return role;
      },
    ],
    [
      'may create tables',
      async () => {
        const role = await aRole();
        const through = await aRole();
        await run(owner, `grant ${through} to ${role}`);
        await run(owner, `grant create on schema public to ${through}`);
        return role;
      },
    ],
  ])('refuses a runtime role that %s, and changes nothing', async (reason, make) => {
    const role = await make();
    await expect(migrate(owner, { runtimeRole: role })).rejects.toThrow(
      new RegExp(
        `^The role ${role} of DATABASE_URL ${reason}.*, so it could change the tables\\. .*postgres-roles\\.sql`,
      ),
    );
    expect(await privilegesOn('ledger_entry', role)).toEqual([]);
  });

  it('asks PostgreSQL which role runs, and refuses two different databases', async () => {
    expect(await findRuntimeRole({ owner, runtime })).toBe(runtimeRole);
    expect(await findRuntimeRole({ owner, runtime: owner })).toBeNull();
    const another = await createTestDatabase();
    try {
      await expect(findRuntimeRole({ owner, runtime: await another.open() })).rejects.toThrow(
        `DATABASE_URL leads to the database ${another.name}, MIGRATE_DATABASE_URL to ${scratch.name}. It must be the same.`,
      );
    } finally {
      await another.drop();
    }
  });
});
