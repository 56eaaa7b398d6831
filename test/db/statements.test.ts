import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { projectFolder } from '../support/program.ts';
import { BuiltMembers } from './statements/built-members.ts';
import { describeStatement, type DescribedColumn } from './statements/describe-statement.ts';
import {
  readStatements,
  type DeclaredMember,
  type DeclaredStatement,
  type Kinds,
} from './statements/read-statements.ts';

let scratch: TestDatabase;
let client: pg.Client;
const { statements, unreadable } = readStatements();

beforeAll(async () => {
  scratch = await createTestDatabase();
  client = new pg.Client({ connectionString: scratch.url });
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await scratch.drop();
});

/** What pg makes of a value of each type. */
const kindsOfType: Readonly<Record<string, Kinds>> = {
  bool: ['boolean'],
  bytea: ['Buffer'],
  date: ['Date'],
  float8: ['number'],
  int2: ['number'],
  int4: ['number'],
  int8: ['number'],
  json: ['object', 'string', 'number', 'boolean', 'array'],
  jsonb: ['object', 'string', 'number', 'boolean', 'array'],
  name: ['string'],
  numeric: ['string'],
  oid: ['number'],
  text: ['string'],
  timestamptz: ['Date'],
  varchar: ['string'],
  void: ['undefined', 'string'],
  _bool: ['boolean[]'],
  _float8: ['number[]'],
  _int4: ['number[]'],
  _int8: ['number[]'],
  _text: ['string[]'],
};

/** Columns that a table allows to be null and that are never null in a statement. */
const neverNull: Readonly<Record<string, string>> = {
  'src/db/callbacks/deliveries.ts url': 'the statement asks for deliveries with a URL',
  'src/db/callbacks/deliveries.ts body': 'the statement has just set it',
  'src/db/projects/sealed-values.ts value': 'the statement asks for values that are not null',
  'src/db/tasks/adopt-result.ts result': 'the statement asks for attempts with a result',
  'src/db/tasks/adopt-result.ts operation': 'the statement asks for attempts with a reference',
  'src/db/tasks/stops.ts operation': 'the statement asks for attempts with a reference',
};

/**
 * The types of the JSON columns of tables, which nothing compares with what is stored: each is the type by which the column is written. A column
 * with another type in one of the statements is a mistake, and a new one asks for a look at what writes it.
 */
const storedJson: Readonly<Record<string, string>> = {
  'api_key.metadata': 'Record<string, string>',
  'attempt.operation': 'JsonObject',
  'attempt.result': 'string | UpstreamOutput[]',
  'audit_entry.after': 'JsonObject',
  'audit_entry.before': 'JsonObject',
  'audit_entry.detail': 'JsonObject',
  'import_item.settings': 'Record<string, JsonValue>',
  'job_run.summary': 'JsonObject',
  'model.entry': 'Model',
  'model.private': 'ModelPrivate',
  'plan.rules': 'PlanRule[]',
  'project.metadata': 'Record<string, string>',
  'task.input': 'JsonObject',
  'task.metadata': 'Record<string, string>',
  'task.output': 'TaskOutput[]',
  'task.snapshot': 'TaskSnapshot',
};

/** The mistakes of a declared type beside a column; empty if it is true. */
function mistakesOf(column: DescribedColumn, kinds: Kinds, file = ''): string[] {
  const allowed = kindsOfType[column.type];
  if (!allowed) return [`${column.name} has the type ${column.type}, which no test maps`];
  const wrong = kinds.filter(
    (kind) =>
      kind !== 'null' &&
      kind !== 'any' &&
      !allowed.includes(kind) &&
      !(kind.endsWith('[]') && allowed.includes('array')) &&
      kind !== 'undefined',
  );
  return [
    ...wrong.map((kind) => `${column.name} is ${column.type} and declared as ${kind}`),
    ...(column.nullable && !kinds.includes('null') && !kinds.includes('any') && !neverNull[`${file} ${column.name}`]
      ? [`${column.name} may be null and is declared without null`]
      : []),
  ];
}

function mistakesOfRow(columns: readonly DescribedColumn[], { at, row, sqlFunction }: DeclaredStatement): string[] {
  if (!row) return [];
  const file = at.replace(/:\d+$/, '');
  const names = new Set(columns.map(({ name }) => name));
  return [
    ...[...row].filter(([name, { optional }]) => !optional && !names.has(name)).map(([name]) => `${name} is no column`),
    ...columns.flatMap((column) => {
      const declared = row.get(column.name);
      if (declared) return mistakesOf(column, declared.kinds, file);
      // A function may return more than this caller reads, because it keeps its columns for the release before.
      return sqlFunction === null ? [`the column ${column.name} is not declared`] : [];
    }),
  ];
}

/** Many statements share texts, and two tests ask for the same. */
const described = new Map<string, Promise<DescribedColumn[]>>();
function columnsOf(text: string): Promise<DescribedColumn[]> {
  const columns = described.get(text) ?? describeStatement(client, text);
  described.set(text, columns);
  return columns;
}

async function mistakesOfStatement(statement: DeclaredStatement): Promise<string[]> {
  const { at, texts, sqlFunction, value } = statement;
  const sent = sqlFunction === null ? texts : [await callOf(sqlFunction)];
  const found = new Set<string>();
  for (const text of sent) {
    try {
      const columns = await columnsOf(text);
      const [column] = columns;
      const mistakes = value ? (column ? mistakesOf(column, value) : ['no column']) : mistakesOfRow(columns, statement);
      for (const mistake of mistakes) found.add(`${at}: ${mistake}`);
    } catch (error) {
      found.add(`${at}: ${error instanceof Error ? error.message : String(error)} in ${text.slice(0, 200)}`);
    }
  }
  return [...found];
}

/** The call of an SQL function, as `Statements.call` writes it. */
async function callOf(name: string): Promise<string> {
  const { rows } = await client.query<{ n: number }>('select pronargs as n from pg_proc where proname = $1', [name]);
  const parameters = Array.from({ length: rows[0]?.n ?? 0 }, (_, index) => `$${index + 1}`);
  return `select * from ${name}(${parameters.join(', ')})`;
}

describe('the statements of src/db', () => {
  it('can all be read without running them', () => {
    expect(unreadable).toEqual([]);
    expect(statements.length).toBeGreaterThan(150);
  });

  it('have no words of a PostgreSQL that is newer than the oldest supported one, 15', () => {
    // `returning old.x` came with 18.
    const newer = /\breturning\b[^;]*\b(old|new)\.\w/i;
    expect(statements.filter(({ texts }) => texts.some((text) => newer.test(text))).map(({ at }) => at)).toEqual([]);
  });

  it('return rows of the declared types: the names of columns, their types, and null where a table allows it', async () => {
    const mistakes: string[] = [];
    for (const statement of statements) mistakes.push(...(await mistakesOfStatement(statement)));
    expect(mistakes).toEqual([]);
  });

  it('read a JSON column of a table with one type everywhere: that of what is written to it', async () => {
    const types = new Map<string, Set<string>>();
    for (const { texts, row, sqlFunction } of statements) {
      if (!row || sqlFunction !== null) continue;
      for (const text of texts)
        for (const { name, type, stored } of await columnsOf(text)) {
          const declared = row.get(name)?.type.replace(/^readonly /, '');
          if (stored !== null && /^jsonb?$/.test(type) && declared !== undefined)
            types.set(stored, (types.get(stored) ?? new Set()).add(declared));
        }
    }
    const found = [...types].map(([stored, names]) => [stored, [...names].sort().join(' and ')]);
    expect(Object.fromEntries(found.sort())).toEqual(storedJson);
  });

  it('make objects of the declared types: their members, and the type of each, in columns and within them', async () => {
    const built = new BuiltMembers(client);
    const mistakes: string[] = [];
    for (const statement of statements)
      mistakes.push(...(await built.mistakesOf(statement)).map((mistake) => `${statement.at}: ${mistake}`));
    expect(mistakes).toEqual([]);
  });

  it('are refused for an object with a misnamed member, a missing one, another type, and a null that is not declared', async () => {
    const text = `select k.id, coalesce((select jsonb_agg(jsonb_build_object('n', 1, 'name', s.prefix, 'at', s.created_at, 'until', s.expires_at,
        'of', jsonb_build_object('last', s.last4, 'none', null)) order by s.id) from api_key_secret s), '[]') as secrets
      from api_key k`;
    const number: DeclaredMember = { kinds: ['number'], optional: false, type: 'number', members: new Map() };
    const within = (members: [string, DeclaredMember][]): DeclaredMember => ({
      ...number,
      kinds: ['object'],
      members: new Map(members),
    });
    const secrets = within([
      ['n', number],
      ['title', number],
      ['at', number],
      ['until', { ...number, kinds: ['string'] }],
      [
        'of',
        within([
          ['last', { ...number, kinds: ['string'] }],
          ['none', number],
        ]),
      ],
    ]);
    const row = new Map([['secrets', secrets]]);
    expect(await new BuiltMembers(client).mistakesOf({ texts: [text], row })).toEqual([
      'secrets.title is no member of the object',
      'secrets.name is not declared',
      'secrets.at is timestamp with time zone and declared as number',
      'secrets.until may be null and is declared without null',
      'secrets.of.none is null and declared without null',
    ]);
    expect(await new BuiltMembers(client).mistakesOf({ texts: [text], row: new Map() })).toEqual([
      'no declared column has the object with n, name, at, until, of',
    ]);
  });

  it('are accepted by a ledger that deploy/postgres/partition-ledger.sql has partitioned', async () => {
    const partitioned = await createTestDatabase();
    const own = new pg.Client({ connectionString: partitioned.url });
    await own.connect();
    try {
      await own.query(readFileSync(join(projectFolder, 'deploy/postgres/partition-ledger.sql'), 'utf8'));
      const texts = new Set(
        statements.flatMap((one) => one.texts).filter((text) => /ledger_entry|reservation/.test(text)),
      );
      expect(texts.size).toBeGreaterThan(20);
      for (const text of texts) await describeStatement(own, text);
    } finally {
      await own.end();
      await partitioned.drop();
    }
  });

  it('are refused for a misnamed column, another type, a missing null, and a column that no row type has', async () => {
    const columns = await describeStatement(
      client,
      'select id, name, status, expires_at, spent from (select k.*, 1::int as status from api_key k) k',
    );
    const declared = (kinds: Kinds) => ({ kinds, optional: false, type: '', members: new Map() });
    const row = new Map<string, DeclaredMember>([
      ['keyId', declared(['string'])],
      ['name', declared(['string'])],
      ['status', declared(['string'])],
      ['expiresAt', declared(['Date'])],
      ['spent', declared(['number'])],
    ]);
    expect(mistakesOfRow(columns, { at: 'a test', texts: [], sqlFunction: null, row, value: null })).toEqual([
      'keyId is no column',
      'the column id is not declared',
      'status is int4 and declared as string',
      'expiresAt may be null and is declared without null',
    ]);
  });
});
