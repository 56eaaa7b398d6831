import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { createKeyCache } from '../../../src/caches/key-cache.ts';
import type { Database } from '../../../src/db/database.ts';
import { breachesIn, rowsOf } from '../../db/books.ts';
import { commandLine } from '../../support/command-line.ts';
import type { TestDatabase } from '../../support/database.ts';
import { createTestHome, type TestHome } from '../../support/home.ts';
import { projectFolder } from '../../support/program.ts';
import { testConfig } from '../../support/test-config.ts';
import { loadPostgres, runSql } from './load-postgres.ts';

const folder = join(projectFolder, 'test/services/imports/fixtures/litellm');
const dump = join(folder, 'litellm.sql.gz');
const keys = z.record(z.string(), z.string()).parse(JSON.parse(readFileSync(join(folder, 'keys.json'), 'utf8')));

let home: TestHome;
let db: Database;

beforeAll(async () => {
  home = await createTestHome();
  db = home.db;
});
afterAll(() => home?.drop());

const { done } = commandLine(() => ({ ...home.settings, TEAM_ANTHROPIC_KEY: 'sk-ant-team' }));
const find = (secret: string) => createKeyCache(db, testConfig(home.settings).secrets.keyPeppers, 1).find(secret);
const created = { projects: 5, keys: 7, channels: 0 };

describe('the import of a database of the LiteLLM proxy', () => {
  let theirs: TestDatabase;
  beforeAll(async () => {
    theirs = await loadPostgres(dump);
  });
  afterAll(() => theirs?.drop());

  it('says the same of its dump and of its server, and writes nothing in a dry run', async () => {
    for (const from of [dump, theirs.url]) {
      const printed = await done('import', 'litellm', '--from', from, '--dry-run');
      expect(printed).toMatchObject({
        created,
        left_out: { 'sessions of the dashboard': 1, 'spend logs': 3 },
        credits: { balances: 87_654_322 + 9_900_000 - 250_000, owed: 250_000, without_budget: 2 },
      });
    }
    expect(await rowsOf(db, 'select id from project')).toEqual([]);
  });

  it('accepts every active key by the digest that LiteLLM stores, and stores it under the pepper at its first use', async () => {
    expect(await done('import', 'litellm', '--from', theirs.url)).toMatchObject({ created });
    for (const name of ['team', 'user', 'custom', 'ownerless', 'budgeted']) {
      expect(await find(keys[name] ?? '')).not.toBeNull();
      expect(await find(keys[name] ?? '')).not.toBeNull();
    }
    for (const name of ['blocked', 'expired', 'dashboard']) expect(await find(keys[name] ?? '')).toBeNull();
    const secrets = await rowsOf<{ prefix: string; pepperId: string }>(
      db,
      `select s.prefix, s.pepper_id from api_key_secret s join api_key k on k.id = s.key_id where k.name in ('custom', 'blocked')
       order by k.name`,
    );
    expect(secrets).toEqual([
      { prefix: 'sk-', pepperId: 'sha256' },
      { prefix: 'sk-custo', pepperId: 'p1' },
    ]);
  });

  it('keeps limits: of the key, its team and its shared budget', async () => {
    expect(await find(keys['team'] ?? '')).toMatchObject({ rpm: 60, models: ['gpt-4o'] });
    expect(await find(keys['custom'] ?? '')).toMatchObject({ rpm: null, models: null, inFlightMax: 4 });
    const budgets = await rowsOf(
      db,
      `select name, budget, budget_daily from api_key where budget is not null or budget_daily is not null order by name`,
    );
    expect(budgets).toEqual([
      { name: 'budgeted', budget: null, budgetDaily: 2_500_000 },
      { name: 'user', budget: 4_900_000, budgetDaily: null },
    ]);
  });

  it('shows what the owner was there', async () => {
    const { data } = await done('projects', 'list');
    const [shown] = (data as { name: string; project_id: string; metadata: object }[]).filter(
      ({ name }) => name === 'Ann',
    );
    expect(shown?.metadata).toMatchObject({ role: expect.any(String) });
    expect(await done('projects', 'show', shown?.project_id ?? '')).toMatchObject({ metadata: shown?.metadata });
  });

  it('lets an owner without a budget spend by an overdraft, and one over its budget owes', async () => {
    const accounts = await rowsOf(
      db,
      `select p.name, p.status, a.balance, a.overdraft > 0 as postpaid from project p join credit_account a on a.project_id = p.id
       order by p.name`,
    );
    expect(accounts).toEqual([
      { name: 'Ann', status: 'active', balance: 9_900_000, postpaid: false },
      { name: 'LiteLLM: keys without a team or user', status: 'active', balance: 0, postpaid: true },
      { name: 'Over budget', status: 'disabled', balance: -250_000, postpaid: false },
      { name: 'Research', status: 'active', balance: 0, postpaid: true },
      { name: 'Search', status: 'active', balance: 87_654_322, postpaid: false },
    ]);
    expect(await breachesIn(db)).toEqual([]);
  });

  it('finds nothing to do in a second run, after its keys were used', async () => {
    const nothing = { projects: 0, keys: 0, channels: 0 };
    expect(await done('import', 'litellm', '--from', dump)).toMatchObject({ created: nothing, changed: nothing });
  });
});

describe('the import of keys of LiteLLM', () => {
  const plain = 'sk-plain-0123456789abcdefghijklmnopqrstuv';
  const changed = (alias: string, values: string): string =>
    `update "LiteLLM_VerificationToken" set ${values} where key_alias = '${alias}'`;
  let theirs: TestDatabase;
  let own: TestHome;
  let notices: Record<string, unknown>[];
  beforeAll(async () => {
    [theirs, own] = await Promise.all([loadPostgres(dump), createTestHome()]);
    await runSql(theirs.url, [
      changed('budgeted', `budget_duration = '1mo', model_max_budget = '{"gpt-4o": {"budget_limit": 1}}'`),
      changed('user', `budget_duration = 'sometimes', budget_limits = '[{"budget_duration": "1d", "max_budget": 1}]'`),
      changed('team', `models = '{gpt-4o,gpt-5,claude-haiku}'`),
      `update "LiteLLM_TeamTable" set models = '{gpt-4*,gpt-5}' where team_id = 'team-search'`,
      changed('ownerless', `token = '${plain}', key_name = null, key_alias = null`),
    ]);
    const line = commandLine(() => own.settings);
    notices = (await line.done('import', 'litellm', '--from', theirs.url))['notices'] as typeof notices;
  });
  afterAll(() => Promise.all([theirs?.drop(), own?.drop()]));
  const keyOf = async (secret = ''): Promise<unknown> =>
    createKeyCache(own.db, testConfig(own.settings).secrets.keyPeppers, 1).find(secret);

  it('makes a budget of a month of `1mo`, and says what it cannot read of a period', async () => {
    const budgets = await rowsOf(
      own.db,
      `select name, budget_daily is not null as daily, budget_monthly is not null as monthly from api_key
       where name in ('budgeted', 'user') order by name`,
    );
    expect(budgets).toEqual([
      { name: 'budgeted', daily: false, monthly: true },
      { name: 'user', daily: false, monthly: true },
    ]);
    const about = (subject: string) =>
      notices.filter((notice) => notice['subject'] === subject).map(({ sentence }) => String(sentence));
    expect(about('key user').join(' ')).toMatch(/several budgets.*every sometimes/);
    expect(about('key budgeted').join(' ')).toMatch(/budgets for single models/);
  });

  it('keeps the models of a key that a glob of its team allows', async () => {
    expect(await keyOf(keys['team'])).toMatchObject({ models: ['gpt-4o', 'gpt-5'] });
  });

  it('gives a key whose limits were removed there those of a new key here', async () => {
    const line = commandLine(() => ({ ...own.settings, KEY_RPM_DEFAULT: '50', KEY_IN_FLIGHT_DEFAULT: '7' }));
    const again = async (values: string): Promise<unknown> => {
      await runSql(theirs.url, [changed('custom', values)]);
      await line.done('import', 'litellm', '--from', theirs.url);
      return keyOf(keys['custom']);
    };
    expect(await again('rpm_limit = 9, max_parallel_requests = 3')).toMatchObject({ rpm: 9, inFlightMax: 3 });
    expect(await again('rpm_limit = null, max_parallel_requests = null')).toMatchObject({ rpm: 50, inFlightMax: 7 });
  });

  it('accepts a key that was stored in plain text, and writes it nowhere', async () => {
    expect(await keyOf(plain)).not.toBeNull();
    const written = await rowsOf(
      own.db,
      `select 'key' as what from api_key k where k::text like '%${plain.slice(0, 12)}%'
       union all select 'audit' from audit_entry a where a::text like '%${plain.slice(0, 12)}%'
       union all select 'item' from import_item i where i::text like '%${plain.slice(0, 12)}%'`,
    );
    expect(written).toEqual([]);
    expect(JSON.stringify(notices)).not.toContain(plain.slice(0, 12));
  });
});

describe('the import of config.yaml', () => {
  it('makes a channel of each provider, address and key, and names what it cannot', async () => {
    const printed = await done('import', 'litellm', '--from', join(folder, 'config.yaml'));
    expect(printed).toMatchObject({ created: { projects: 0, keys: 0, channels: 5 } });
    expect(printed['notices']).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ kind: 'left_out', subject: 'model bedrock-claude' }),
        expect.objectContaining({ kind: 'check', subject: 'the master key' }),
      ]),
    );
    const channels = await rowsOf(db, 'select name, adapter, base_url, weight, rpm, tpm from channel order by name');
    expect(channels).toEqual([
      {
        name: 'litellm-anthropic',
        adapter: 'anthropic',
        baseUrl: 'https://api.anthropic.com/v1',
        weight: 1,
        rpm: 60,
        tpm: 100_000,
      },
      {
        name: 'litellm-azure',
        adapter: 'openai',
        baseUrl: 'https://acme.openai.azure.com/openai/v1',
        weight: 1,
        rpm: null,
        tpm: null,
      },
      {
        name: 'litellm-hosted_vllm',
        adapter: 'openai',
        baseUrl: 'http://10.1.2.3:8000/v1',
        weight: 1,
        rpm: null,
        tpm: null,
      },
      {
        name: 'litellm-openai',
        adapter: 'openai',
        baseUrl: 'https://api.openai.com/v1',
        weight: 1,
        rpm: null,
        tpm: null,
      },
      {
        name: 'litellm-openai-2',
        adapter: 'openai',
        baseUrl: 'https://api.openai.com/v1',
        weight: 2,
        rpm: null,
        tpm: null,
      },
    ]);
  });
});
