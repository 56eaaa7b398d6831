import { copyFileSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { rowsOf } from '../../db/books.ts';
import { mediaRoutes } from '../../support/api-client.ts';
import { commandLine } from '../../support/command-line.ts';
import { startGateway, type Gateway } from '../../support/gateway.ts';
import { projectFolder } from '../../support/program.ts';
import { all, chat, countVerdicts, verdictOf } from '../chat/chats.ts';

const fixtures = join(projectFolder, 'test/services/imports/fixtures');
const litellm = z
  .record(z.string(), z.string())
  .parse(JSON.parse(readFileSync(join(fixtures, 'litellm/keys.json'), 'utf8')));

let gateway: Gateway;
beforeAll(async () => {
  // A credit is worth what a fresh installation makes it worth.
  gateway = await startGateway({ env: { CREDIT_VALUE_MICRO_USD: '1' } });
});
afterAll(() => gateway?.stop());
const { done } = commandLine(() => gateway.env);

/** What a key that the former gateway refuses is like there. */
const refusedTokens = {
  expired: `insert into tokens (id, user_id, key, status, name, expired_time, unlimited_quota) values (90, 3, $key, 1, 'expired', 1000, 1)`,
  used: `insert into tokens (id, user_id, key, status, name, expired_time, remain_quota, unlimited_quota) values (91, 3, $key, 1, 'used', -1, 0, 0)`,
  elsewhere: `insert into tokens (id, user_id, key, status, name, expired_time, unlimited_quota, LIST) values (92, 3, $key, 1, 'elsewhere', -1, 1, '10.0.0.0/8')`,
} as const;
const secretOf = (program: string, name: string): string =>
  `${program}-${name}-0123456789abcdefghijklmnop`.slice(0, 48);

/** A copy of a database in which carol has credits for a chat, with tokens that are refused. Returns the tokens that their program accepts. */
function prepared(program: 'one-api' | 'new-api'): { path: string; tokens: { secret: string; only: boolean }[] } {
  const path = join(gateway.logFolder, `${program}.db`);
  copyFileSync(join(fixtures, program, `${program}.db`), path);
  const database = new DatabaseSync(path);
  database.exec(`update users set quota = 500000 where username = 'carol'`);
  const models = program === 'one-api' ? 'models' : 'model_limits';
  const tokens = database
    .prepare(`select key, ${models} as models from tokens where status = 1 and user_id <> 5 order by id`)
    .all()
    .map(({ key, models: list }) => ({ secret: `sk-${String(key)}`, only: (list ?? '') !== '' }));
  for (const [name, statement] of Object.entries(refusedTokens))
    database
      .prepare(statement.replace('LIST', program === 'one-api' ? 'subnet' : 'allow_ips'))
      .run({ $key: secretOf(program, name) });
  database.close();
  return { path, tokens };
}

const image = { model: 'aurora-image-1', prompt: 'a moved key' };
const chats = (secret: string, fields: Record<string, unknown> = {}) =>
  chat(gateway, secret, 'hello', { fields: { model: 'gpt-4o', ...fields } });

/** Chats with the secret, and creates and polls a picture if the key may use its model. */
async function use({ secret, only }: { secret: string; only: boolean }): Promise<void> {
  expect(verdictOf(await chats(secret))).toBe('200');
  if (only) {
    expect(verdictOf(await gateway.create(secret, mediaRoutes.image, image))).toBe('403 model_not_allowed');
    return;
  }
  const taskId = await gateway.accept(secret, mediaRoutes.image, image);
  expect(await gateway.poll(secret, taskId)).toMatchObject({ status: 'succeeded' });
}

describe.each(['one-api', 'new-api'] as const)('the customers of %s', (program) => {
  let tokens: { secret: string; only: boolean }[];
  beforeAll(async () => {
    const source = prepared(program);
    tokens = source.tokens;
    await done('import', program, '--from', source.path);
  });

  it('chat, create and poll with every active token as before, with its prefix and without', async () => {
    expect(tokens).toHaveLength(program === 'one-api' ? 7 : 4);
    for (const token of tokens) {
      await use(token);
      expect(verdictOf(await chats(token.secret.replace('sk-', '')))).toBe('200');
    }
  });

  it('go back with what they spent here, as a file of SQL for each of them', async () => {
    const spentHere = await rowsOf<{ name: string; spent: number }>(
      gateway.database,
      `select p.name, -sum(e.credits)::int as spent from ledger_entry e join import_item i on i.internal_id = e.project_id
       join project p on p.id = e.project_id where i.source = $1 and e.kind = 'settle' group by p.name order by p.name`,
      [program],
    );
    const path = join(gateway.logFolder, `${program}.db`);
    const folder = join(gateway.logFolder, `${program}-spent`);
    const printed = await done('import', program, '--from', path, '--spent', folder);
    expect(printed).toMatchObject({ dry_run: true, spent: { projects: 3 } });
    const theirs = new DatabaseSync(path);
    const read = () => theirs.prepare('select username, quota, used_quota as used from users order by username').all();
    const before = read();
    for (const file of readdirSync(folder)) theirs.exec(readFileSync(join(folder, file), 'utf8'));
    const after = read();
    const used = theirs.prepare(`select used_quota as used from tokens where name = 'app'`).get();
    theirs.close();
    const taken = before.flatMap(({ username, quota }, index) => {
      const change = Number(quota) - Number(after[index]?.['quota']);
      return change === 0 ? [] : [{ name: username, spent: change }];
    });
    // A credit is half a quota, rounded up.
    expect(taken).toEqual(spentHere.map(({ name, spent }) => ({ name, spent: Math.ceil(spent / 2) })));
    expect(Number(used?.['used'])).toBeGreaterThan(0);
  });

  it.each([
    ['expired', '401 invalid_api_key'],
    ['used', '402 key_budget_exceeded'],
    ['elsewhere', '403 ip_not_allowed'],
  ])('are refused with a token that is %s', async (name, verdict) => {
    expect(verdictOf(await chats(`sk-${secretOf(program, name)}`))).toBe(verdict);
  });

  it('are refused with a disabled token, and with a token of a disabled user', async () => {
    const theirs = new DatabaseSync(join(gateway.logFolder, `${program}.db`), { readOnly: true });
    const refused = theirs.prepare('select key from tokens where status <> 1 or user_id = 5').all();
    theirs.close();
    const verdicts = await Promise.all(refused.map(async ({ key }) => verdictOf(await chats(`sk-${String(key)}`))));
    expect(verdicts.length).toBeGreaterThanOrEqual(2);
    expect(new Set(verdicts)).toEqual(new Set(['401 invalid_api_key']));
  });
});

describe('the customers of LiteLLM', () => {
  const pepperOf = async (name: string) =>
    (
      await rowsOf<{ pepperId: string }>(
        gateway.database,
        `select s.pepper_id from api_key_secret s join api_key k on k.id = s.key_id where k.name = $1`,
        [name],
      )
    ).map(({ pepperId }) => pepperId);
  beforeAll(() => done('import', 'litellm', '--from', join(fixtures, 'litellm/litellm.sql.gz')));

  it('chat, create and poll with every active key as before, which is stored under the pepper from its first use', async () => {
    expect(await pepperOf('custom')).toEqual(['sha256']);
    for (const name of ['user', 'custom', 'ownerless', 'budgeted'])
      await use({ secret: litellm[name] ?? '', only: false });
    await use({ secret: litellm['team'] ?? '', only: true });
    expect(await pepperOf('custom')).toEqual(['p1']);
    expect(await pepperOf('blocked')).toEqual(['sha256']);
  });

  it.each(['blocked', 'expired', 'dashboard'])('are refused with a key that is %s', async (name) => {
    expect(verdictOf(await chats(litellm[name] ?? ''))).toBe('401 invalid_api_key');
  });

  it('go back with what they spent here in US dollars', async () => {
    const folder = join(gateway.logFolder, 'litellm-spent');
    await done('import', 'litellm', '--from', join(fixtures, 'litellm/litellm.sql.gz'), '--spent', folder);
    const texts = readdirSync(folder).map((file) => readFileSync(join(folder, file), 'utf8'));
    expect(texts.join('\n')).toMatch(/update "LiteLLM_TeamTable" set spend = spend \+ \d+\.\d+ where team_id = '/);
    expect(texts.join('\n')).toMatch(
      /update "LiteLLM_VerificationToken" set spend = spend \+ \d+\.\d+ where token = '/,
    );
  });

  it('have the requests per minute that the key had', async () => {
    const answers = await all(80, () => chats(litellm['team'] ?? ''));
    const verdicts = countVerdicts(answers);
    expect(verdicts['429 rate_limit_exceeded']).toBeGreaterThanOrEqual(20);
    expect(verdicts[200]).toBeLessThanOrEqual(60);
  });
});
