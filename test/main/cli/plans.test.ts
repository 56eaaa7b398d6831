import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createKeyCache } from '../../../src/caches/key-cache.ts';
import type { Database } from '../../../src/db/database.ts';
import { findPlan } from '../../../src/db/plans/plans.ts';
import { cli } from '../../../src/main/cli.ts';
import { commandLine } from '../../support/command-line.ts';
import { createTestHome, type TestHome } from '../../support/home.ts';
import { createOperator, type Operator } from '../../support/operator.ts';
import { lastAuditOf } from '../../support/rows.ts';
import { testConfig } from '../../support/test-config.ts';

let home: TestHome;
let db: Database;
let operator: Operator;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-plans-'));
  // The prices of the tests' catalog are at a credit of one cent.
  home = await createTestHome({ CREDIT_VALUE_MICRO_USD: '10000' });
  db = home.db;
  operator = createOperator(db, home.settings);
  await done('catalog', 'apply', 'catalog');
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await home?.drop();
});

const { tollgate, done, refused } = commandLine(() => home.settings);

/** A file with these rules, or with this text. */
function file(rules: unknown): string {
  const path = join(folder, `rules-${Math.random()}.json`);
  writeFileSync(path, typeof rules === 'string' ? rules : JSON.stringify(rules));
  return path;
}

const times = (multiplier: number) => [{ models: '*', multiplier }];
const planOf = async (secret: string) =>
  (await createKeyCache(db, testConfig(home.settings).secrets.keyPeppers, 1).find(secret))?.plan;
const allPlans = () => done('plans', 'list');

const dearChat = {
  id: 'dear-chat',
  object: 'model',
  type: 'chat',
  owned_by: 'acme',
  display_name: 'Dear',
  group: 'Dear',
  capability: 'chat',
  description: null,
  status: 'active',
  private: {
    groups: ['chat'],
    context_tokens: 128_000,
    upstream: { openai: { model: 'dear', cost: { per_million: { input: 1, output: 1 } } } },
  },
};

describe('tollgate plans', () => {
  it('creates a plan, shows the price of every model under it, changes it and deletes it, each in the audit log', async () => {
    const rules = [{ models: 'gpt-5-mini', prices: { credits_per_1k_input_tokens: 77 } }, ...times(1.5)];
    expect(await done('plans', 'create', '--name', 'gold', '--rules', file(rules))).toEqual({ name: 'gold', rules });
    expect(await allPlans()).toMatchObject({ data: [{ name: 'gold', rules, projects: 0 }] });

    const catalog = (await done('catalog', 'list'))['data'] as { id: string; pricing: Record<string, number> }[];
    const shown = await done('plans', 'show', 'gold');
    expect(shown).toMatchObject({ name: 'gold', rules, unused: [] });
    const models = shown['models'] as { model: string; rule: number; catalog: object; plan: { pricing: object } }[];
    expect(models.map(({ model }) => model)).toEqual(catalog.map(({ id }) => id));
    const base = catalog.find(({ id }) => id === 'gpt-5-mini')?.pricing;
    expect(models.find(({ model }) => model === 'gpt-5-mini')).toMatchObject({
      rule: 1,
      catalog: { pricing: base },
      plan: { pricing: { ...base, credits_per_1k_input_tokens: 77 } },
    });
    expect(new Set(models.map(({ rule }) => rule))).toEqual(new Set([1, 2]));

    const id = (await findPlan(db, 'gold'))?.planId ?? '';
    expect(await done('plans', 'set', 'gold', '--rules', file(times(2)))).toEqual({
      name: 'gold',
      rules: times(2),
      changed: true,
    });
    expect(await done('plans', 'set', 'gold', '--rules', file(times(2)))).toMatchObject({ changed: false });
    expect(await lastAuditOf(db, id)).toMatchObject([
      { action: 'plans.set', before: { rules }, after: { rules: times(2) }, detail: { name: 'gold' } },
    ]);
    expect(await done('plans', 'delete', 'gold')).toEqual({ name: 'gold', deleted: true });
    expect(await allPlans()).toEqual({ data: [] });
    expect(await refused('plans', 'show', 'gold')).toBe('There is no plan gold.');
  });

  it('warns of the rules that can never match and shows them', async () => {
    const rules = [...times(1.5), { models: 'gpt-5-mini', multiplier: 2 }, { models: 'openai', multiplier: 3 }];
    const warnings = [
      'Rule 2 (gpt-5-mini) can never match: rule 1 (*) matches all of it first.',
      'Rule 3 (openai) can never match: rule 1 (*) matches all of it first.',
    ];
    expect(await done('plans', 'create', '--name', 'odd', '--rules', file(rules))).toMatchObject({ warnings });
    const { unused } = await done('plans', 'show', 'odd');
    expect(unused).toMatchObject(warnings.map((message) => ({ reason: 'earlier_rule', message })));
    await done('plans', 'delete', 'odd');
  });

  it('gives a project a plan and takes it away, and the keys of the project have it', async () => {
    const { projectId, apiKey } = await operator.project();
    await done('plans', 'create', '--name', 'silver plan', '--rules', file('- models: "*"\n  multiplier: 1.1\n'));
    expect(await planOf(apiKey)).toBeNull();
    expect(await done('projects', 'set', projectId, '--plan', 'silver plan')).toMatchObject({
      project_id: projectId,
      plan: 'silver plan',
    });
    expect(await planOf(apiKey)).toMatchObject({ name: 'silver plan', revision: 1, rules: times(1.1) });
    expect(await lastAuditOf(db, projectId)).toMatchObject([
      { action: 'projects.set', before: { plan: null }, after: { plan: 'silver plan' } },
    ]);
    expect(await done('projects', 'list')).toMatchObject({ data: [{ project_id: projectId, plan: 'silver plan' }] });
    expect(await refused('plans', 'delete', 'silver plan')).toBe(
      `The plan silver plan is in use by ${projectId}. Give them another with projects set --plan. Nothing was changed.`,
    );
    await done('projects', 'set', projectId, '--plan', 'none');
    expect(await planOf(apiKey)).toBeNull();
    await done('plans', 'delete', 'silver plan');
  });

  it('refuses what it cannot do, and nothing changes', async () => {
    const { projectId } = await operator.project();
    await done('plans', 'create', '--name', 'kept', '--rules', file(times(1.5)));
    await done('projects', 'set', projectId, '--plan', 'kept');
    const before = await allPlans();
    const badRules = [
      times(0),
      times(-1),
      times(1e9),
      [{ models: '*', prices: { credits_per_request: 2 ** 53 } }],
      [],
      '[{',
      '- x',
    ];
    for (const rules of [...badRules, '- models: "*"\n  multiplier: .nan\n']) {
      expect(await tollgate('plans', 'create', '--name', 'bad', '--rules', file(rules))).toMatchObject({ code: 2 });
      expect(await tollgate('plans', 'set', 'kept', '--rules', file(rules))).toMatchObject({ code: 2 });
    }
    for (const name of ['none', 'a/b', ' ', '-x']) {
      const { code } = await tollgate('plans', 'create', `--name=${name}`, '--rules', file(times(2)));
      expect([name, code]).toEqual([name, 2]);
    }
    expect(await refused('plans', 'create', '--name', 'kept', '--rules', file(times(2)))).toMatch(
      /already a plan kept/,
    );
    expect(await refused('plans', 'create', '--name', 'x', '--rules', join(folder, 'missing'))).toMatch(
      /cannot be read/,
    );
    expect(await refused('plans', 'set', 'unknown', '--rules', file(times(2)))).toBe('There is no plan unknown.');
    expect(await refused('plans', 'delete', 'unknown')).toBe('There is no plan unknown.');
    expect(await refused('projects', 'set', projectId, '--plan', 'unknown')).toBe('There is no plan unknown.');
    expect(await refused('projects', 'set', 'prj_unknown', '--plan', 'kept')).toBe('There is no project prj_unknown.');
    expect(await refused('projects', 'set', projectId)).toMatch(/Nothing to change/);
    expect(await allPlans()).toEqual(before);
    expect(await done('projects', 'list', '--limit', '1')).toMatchObject({ data: [{ plan: 'kept' }] });
    await done('projects', 'set', projectId, '--plan', 'none');
    await done('plans', 'delete', 'kept');
  });

  it('of a name are those with which catalog check computes margins and losses', async () => {
    await done('plans', 'create', '--name', 'low', '--rules', file([{ models: 'gpt-5-mini', multiplier: 0.01 }]));
    const marginsUnder = async (...plan: string[]) => {
      const { code, printed } = await tollgate('catalog', 'check', 'test/support/catalog', ...plan);
      const data = printed['data'] as { model: string; losses: object[]; margins: { credits: number }[] }[];
      return { code, of: data.find(({ model }) => model === 'gpt-5-mini') };
    };
    const usual = await marginsUnder();
    const low = await marginsUnder('--plan', 'low');
    expect([usual.code, usual.of?.losses]).toEqual([0, []]);
    expect(low.of?.margins.map(({ credits }) => credits)).toEqual(
      usual.of?.margins.map(({ credits }) => Math.ceil(credits / 100)),
    );
    expect(await refused('catalog', 'check', 'test/support/catalog', '--plan', 'unknown')).toBe(
      'There is no plan unknown.',
    );
    await done('plans', 'delete', 'low');
  });

  it('refuses a plan, and a catalog, under which a price is above the largest', async () => {
    const dear = {
      models: [{ ...dearChat, pricing: { credits_per_1k_input_tokens: 1, credits_per_1k_output_tokens: 900_000_000 } }],
    };
    const dearCatalog = file(dear);
    await done('plans', 'create', '--name', 'double', '--rules', file([{ models: 'dear-*', multiplier: 2 }]));
    expect(await refused('catalog', 'apply', dearCatalog)).toBe(
      'Under the plan double a price of dear-chat is 1800000000 credits. A price has at most 1000000000. Nothing was changed.',
    );
    await done('plans', 'delete', 'double');
    const usual = await done('catalog', 'list');
    await done('catalog', 'apply', dearCatalog);
    expect(await refused('plans', 'create', '--name', 'double', '--rules', file(times(2)))).toBe(
      'Under these rules a price of dear-chat is 1800000000 credits. A price has at most 1000000000. Nothing was changed.',
    );
    await done('catalog', 'apply', file(usual));
  });
});

describe('a table for people', () => {
  it('shows every number of credits with its worth', async () => {
    const { projectId } = await operator.project({ credits: 5_000 });
    const key = await done('keys', 'create', '--project', projectId, '--budget', '40000', '--budget-daily', '300');
    await done('plans', 'create', '--name', 'worth', '--rules', file([{ models: '*', multiplier: 2 }]));
    const printed = async (...args: string[]): Promise<string> => {
      const written: string[] = [];
      expect(await cli(args, home.settings, (text) => written.push(text))).toBe(0);
      return written.join('');
    };
    expect(await printed('projects', 'set', projectId, '--overdraft', '700')).toContain('700 · $7.00');
    expect(await printed('projects', 'show', projectId)).toContain('5,000 · $50.00');
    for (const keys of [await printed('keys', 'list'), await printed('keys', 'show', String(key['key_id']))]) {
      expect(keys).toContain('40,000 · $400.00');
      expect(keys).toContain('0 · $0.00, of 300');
    }
    expect(await printed('plans', 'show', 'worth')).toMatch(/aurora-image-1 .* [\d,]+ · \$[\d.]+ to [\d,]+ · \$[\d.]+/);
  });
});
