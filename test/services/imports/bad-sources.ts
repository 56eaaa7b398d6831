import { createHash } from 'node:crypto';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { TestDatabase } from '../../support/database.ts';
import { projectFolder } from '../../support/program.ts';
import { loadPostgres, runSql } from './load-postgres.ts';

export const fixtures = join(projectFolder, 'test/services/imports/fixtures');

/** How a copy of a source differs from what its program wrote. */
export type Change =
  | { add: string }
  /** The table, or the column of it, has another name. */
  | { hide: string; column?: string }
  /** The part of the file that is there. */
  | { keep: number };

/** A form of the database of a program. */
export interface Source {
  name: string;
  program: 'one-api' | 'new-api' | 'litellm';
  /** A server has no half of a file, and its keys hold ids apart. */
  isServer: boolean;
  /** Makes a copy in the folder and returns what `--from` takes. */
  changed(folder: string, change: Change): Promise<string>;
}

/** Lets a row repeat the secret of another one. */
const withoutKeys = `drop index if exists idx_tokens_key; drop index if exists idx_redemptions_key;`;
const withoutLitellmKeys = `alter table "LiteLLM_VerificationToken" drop constraint "LiteLLM_VerificationToken_pkey";`;

const statementsOf = (change: Change): string => {
  if ('add' in change) return change.add;
  if (!('hide' in change)) throw new Error('a database has no half');
  const { hide: table, column } = change;
  return column === undefined
    ? `alter table "${table}" rename to hidden`
    : `alter table "${table}" rename column "${column}" to hidden`;
};

/** Takes a change back. Rows that were added have ids of 90 and more, or the name `bad`. */
function undoOf(program: Source['program'], change: Change): string {
  if ('hide' in change) {
    const { hide: table, column } = change;
    return column === undefined
      ? `alter table hidden rename to "${table}"`
      : `alter table "${table}" rename column hidden to "${column}"`;
  }
  return program === 'litellm'
    ? `delete from "LiteLLM_VerificationToken" where key_alias = 'bad'; delete from "LiteLLM_TeamTable" where team_alias = 'Bad'; delete from "LiteLLM_ProxyModelTable"`
    : ['users', 'tokens', 'channels', 'redemptions'].map((table) => `delete from ${table} where id >= 90`).join(';');
}

function sqlite(program: 'one-api' | 'new-api'): Source {
  const fixture = join(fixtures, program, `${program}.db`);
  return {
    name: `a SQLite file of ${program}`,
    program,
    isServer: false,
    changed(folder, change) {
      const path = join(folder, `${program}.db`);
      copyFileSync(fixture, path);
      if ('keep' in change) {
        const bytes = readFileSync(fixture);
        writeFileSync(path, bytes.subarray(0, bytes.length * change.keep));
        return Promise.resolve(path);
      }
      const database = new DatabaseSync(path);
      database.exec(`${withoutKeys} ${statementsOf(change)}`);
      database.close();
      return Promise.resolve(path);
    },
  };
}

function dump(program: Source['program'], file: string): Source {
  const fixture = join(fixtures, file);
  const isGzip = file.endsWith('.gz');
  return {
    name: `the dump ${basename(file)}`,
    program,
    isServer: false,
    changed(folder, change) {
      const path = join(folder, basename(file));
      const bytes = readFileSync(fixture);
      if ('keep' in change) writeFileSync(path, bytes.subarray(0, bytes.length * change.keep));
      else {
        const text = changedText((isGzip ? gunzipSync(bytes) : bytes).toString('utf8'), change);
        writeFileSync(path, isGzip ? gzipSync(text) : text);
      }
      return Promise.resolve(path);
    },
  };
}

function changedText(text: string, change: Exclude<Change, { keep: number }>): string {
  // The last line of a whole dump may be followed by statements.
  if ('add' in change) return `${text}\n${change.add}\n`;
  const { hide: table, column } = change;
  return column === undefined
    ? text.replace(new RegExp(`((?:TABLE|INTO|COPY) (?:ONLY )?(?:public\\.)?["\`]?)${table}\\b`, 'g'), '$1hidden')
    : text.replace(new RegExp(`\\b${column}\\b`, 'g'), 'hidden');
}

/** A PostgreSQL server. `drop` is for the end of the test file. */
function server(program: Source['program'], file: string): Source & { drop: () => Promise<void> } {
  let database: TestDatabase | undefined;
  let former: Change = { add: '' };
  return {
    name: `a PostgreSQL server of ${program}`,
    program,
    isServer: true,
    async changed(_folder, change) {
      if (!database) {
        database = await loadPostgres(join(fixtures, file));
        await runSql(database.url, [program === 'litellm' ? withoutLitellmKeys : withoutKeys]);
      }
      // A new database for each change would take longer than all the rest.
      await runSql(database.url, [undoOf(program, former), statementsOf(change)]);
      former = change;
      return database.url;
    },
    drop: async () => database?.drop(),
  };
}

export const servers = [
  server('one-api', 'one-api/one-api.postgres.sql'),
  server('new-api', 'new-api/new-api.postgres.sql'),
  server('litellm', 'litellm/litellm.sql.gz'),
];

export const sources: readonly Source[] = [
  sqlite('one-api'),
  sqlite('new-api'),
  dump('one-api', 'one-api/one-api.mysql.sql'),
  dump('new-api', 'new-api/new-api.mysql.sql'),
  dump('one-api', 'one-api/one-api.postgres.sql'),
  dump('new-api', 'new-api/new-api.postgres.sql'),
  dump('litellm', 'litellm/litellm.sql.gz'),
  ...servers,
];

/** What is wrong with a source, and what the import says of it. Of `refused` nothing is written; the others are named in a dry run. */
export interface Fault {
  name: string;
  change: Change;
  says: string;
  refused: boolean;
  /** The keys of a server hold ids apart. */
  onlyInFiles?: boolean;
}

const unsafe = '9000000000000000000';

const user = (quota: string) =>
  `insert into users (id, username, password, status, quota, access_token, aff_code) values (90, 'ninety', 'x', 1, ${quota}, 'access90', 'aff90');`;
const token = (id: number, userId: number, quota: string, key = `bad${id}`) =>
  `insert into tokens (id, user_id, key, status, name, expired_time, remain_quota, unlimited_quota) values (${id}, ${userId}, '${key}-0123456789abcdefghijklmnop', 1, 'token${id}', -1, ${quota}, false);`;
const code = (quota: string) =>
  `insert into redemptions (id, user_id, key, status, name, quota) values (90, 1, 'code90', 1, 'gift', ${quota});`;
const channel = (type: string) =>
  `insert into channels (id, type, key, status, name, models) values (90, ${type}, 'sk-ninety', 1, 'ninety', 'gpt-4o');`;

const named = (name: string, add: string, says: string): Fault => ({ name, change: { add }, says, refused: false });
const refusedRow = (name: string, add: string, says: string, more: Partial<Fault> = {}): Fault => ({
  name,
  change: { add },
  says,
  refused: true,
  ...more,
});
const hidden = (tables: Readonly<Record<string, string>>): Fault[] =>
  Object.entries(tables).flatMap(([table, column]) => [
    { name: `no table ${table}`, change: { hide: table }, says: `the table ${table}`, refused: true },
    {
      name: `no column ${table}.${column}, as another version`,
      change: { hide: table, column },
      says: `the column ${table}.${column}`,
      refused: true,
    },
  ]);
const cut = [0.3, 0.6, 0.95].map((keep) => ({
  name: `${keep * 100} % of its bytes`,
  change: { keep },
  says: 'cut off',
  refused: true,
  onlyInFiles: true,
}));

const ofOneApi: readonly Fault[] = [
  ...hidden({ users: 'quota', tokens: 'remain_quota', channels: 'type', options: 'value' }),
  ...cut,
  named('a user with a negative quota', user('-500'), 'user 90 (ninety)'),
  named('a token with a negative quota', token(90, 2, '-5'), 'has a negative quota (-5): its budget is 0.'),
  named('a code with a negative quota', code('-5'), 'worth nothing'),
  named('a channel of an unknown type', channel('9999'), 'is of type 9999'),
  refusedRow('a user with a quota beyond the exact range', user(unsafe), `quota beyond the exact range: ${unsafe}`),
  refusedRow('a user who owes more than the exact range', user(`-${unsafe}`), `user 90 (ninety)`),
  refusedRow('a token with a quota beyond the exact range', token(90, 2, unsafe), 'token 90 (token90)'),
  refusedRow('a code with a quota beyond the exact range', code(unsafe), 'redemption code 90'),
  refusedRow(
    'two users with one token',
    token(90, 2, '5', 'same') + token(91, 3, '5', 'same'),
    'key 91 (token91) of bob","sentence":"has the same secret as key 90 (token90) of alice.',
  ),
  refusedRow(
    'two users with one token, of which one has the prefix twice',
    token(90, 2, '5', 'sk-sk-same') + token(91, 3, '5', 'sk-same'),
    'key 91 (token91) of bob',
  ),
  refusedRow('two users with one id', user('5') + user('6'), 'user or team 90 (ninety)', { onlyInFiles: true }),
];

/** Ids as a file without keys may have them; a SQLite file has keys. */
export const faultsOf = ({ program, isServer, name }: Source): readonly Fault[] =>
  (program === 'litellm' ? ofLitellm : ofOneApi).filter(
    (fault) => !(fault.onlyInFiles && isServer) && !(fault.name.endsWith('one id') && name.includes('SQLite')),
  );

const team = (budget: string, spend = '0') =>
  `insert into "LiteLLM_TeamTable" (team_id, team_alias, max_budget, spend, models, admins, members) values ('team-bad', 'Bad', ${budget}, ${spend}, '{}', '{}', '{}');`;
const key = (fields: Readonly<Record<string, string>>, digest = 'b'.repeat(64)) =>
  `insert into "LiteLLM_VerificationToken" (token, key_alias, user_id, models${['', ...Object.keys(fields)].join(', ')}) values ('${digest}', 'bad', 'ann', '{}'${['', ...Object.values(fields)].join(', ')});`;
const deployment = (id: string) =>
  `insert into "LiteLLM_ProxyModelTable" (model_id, model_name, litellm_params, created_by, updated_by) values ('${id}', 'gpt-4o', '{"model": "encrypted"}', 'admin', 'admin');`;
const plainKey = 'sk-an-old-plain-key-0123456789';
const digestOfPlainKey = createHash('sha256').update(plainKey).digest('hex');

const ofLitellm: readonly Fault[] = [
  ...hidden({
    LiteLLM_VerificationToken: 'expires',
    LiteLLM_TeamTable: 'team_alias',
    LiteLLM_UserTable: 'max_budget',
  }),
  ...cut,
  named('a team with a negative budget', team('-5'), 'has spent 0 of -5 USD'),
  named('a key with a negative budget', key({ max_budget: '-5' }), 'has a negative budget (-5 USD)'),
  named(
    'two deployments of one model',
    deployment('east') + deployment('west'),
    'model gpt-4o","sentence":"has 2 deployments in the database',
  ),
  named('a key with a negative limit', key({ rpm_limit: '-5' }), 'has -5 as rpm_limit'),
  refusedRow('a team with a budget beyond the exact range', team('1e300'), 'team Bad'),
  refusedRow('a team with a spend that is no number', team('5', `'NaN'`), 'team Bad'),
  refusedRow('a key with a budget beyond the exact range', key({ max_budget: '1e300' }), 'key bad'),
  refusedRow('a key with a spend without end', key({ max_budget: '5', spend: `'Infinity'` }), 'key bad'),
  refusedRow('two keys with one token', key({}) + key({}), 'has the same secret as key bbbbbbbbbbbb (bad) of Ann'),
  refusedRow(
    'a plain key and a digest of it',
    key({}, plainKey) + key({}, digestOfPlainKey),
    `has the same secret as key ${digestOfPlainKey.slice(0, 12)} (bad) of Ann`,
  ),
  refusedRow('two teams with one id', team('5') + team('6'), 'LiteLLM_TeamTable team-bad', { onlyInFiles: true }),
];
