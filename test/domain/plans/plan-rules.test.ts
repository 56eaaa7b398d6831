import { describe, expect, it } from '@jest/globals';
import { coversPattern, matchesGlob, namesModel, patternProblem } from '../../../src/domain/plans/model-pattern.ts';
import type { PlanRule } from '../../../src/domain/plans/plan.ts';
import { unusedRules } from '../../../src/domain/plans/unused-rules.ts';
import { loadCatalog } from '../../../src/services/catalog/load-catalog.ts';

const model = { id: 'gpt-5-mini', type: 'chat', group: 'GPT-5', owned_by: 'OpenAI' } as const;

describe('models of a rule', () => {
  it.each([
    ['*', true],
    ['gpt-5-mini', true],
    ['GPT-5-mini', true],
    ['gpt-*', true],
    ['*mini*', true],
    ['gpt-?-mini', true],
    ['gpt-5', false],
    ['gpt-?', false],
    ['id:gpt-5*', true],
    ['type:chat', true],
    ['chat', true],
    ['image', false],
    ['type:image', false],
    ['group:gpt-5', true],
    ['group:GPT*', true],
    ['group:gpt-4', false],
    ['vendor:openai', true],
    ['vendor:Open*', true],
    ['vendor:google', false],
    ['openai', false],
  ])('%s name gpt-5-mini of OpenAI: %s', (pattern, names) => {
    expect(patternProblem(pattern)).toBeNull();
    expect(namesModel(pattern, model)).toBe(names);
  });

  it.each(['group:', 'vendor: ', 'type:text', 'type:', 'gpt 5', 'gpt/5', 'family:gpt', '{a,b}'])(
    '%s are refused',
    (pattern) => {
      expect(patternProblem(pattern)).toEqual(expect.any(String));
    },
  );

  it('with many wildcards are compared in time that grows with the text, not with its power', () => {
    expect(matchesGlob(`${'*a'.repeat(60)}b`, 'a'.repeat(128))).toBe(false);
  });

  it.each([
    ['*', 'vendor:openai', true],
    ['gpt-*', 'gpt-5*', true],
    ['gpt-*', 'gpt-5-mini', true],
    ['gpt-5*', 'gpt-*', false],
    ['gpt-?', 'gpt-*', false],
    ['gpt-?', 'gpt-?', true],
    ['type:chat', 'chat', true],
    ['group:gpt*', 'gpt-5', false],
    ['vendor:*', 'gpt-5', true],
  ])('%s before %s leave it nothing: %s', (earlier, later, covers) => {
    expect(coversPattern(earlier, later)).toBe(covers);
  });
});

describe('the rules that decide nothing', () => {
  const times = (models: string): PlanRule => ({ models, multiplier: 2 });
  const reasonsOf = async (...rules: PlanRule[]) =>
    unusedRules(rules, (await loadCatalog('catalog')).entries).map(({ rule, reason }) => [rule, reason]);

  it('are those after a rule for all of their models', async () => {
    expect(await reasonsOf(times('gpt-*'), times('gpt-5*'), times('*'), times('type:video'))).toEqual([
      [2, 'earlier_rule'],
      [4, 'earlier_rule'],
    ]);
    expect(await reasonsOf(times('*'), times('soon-*'))).toEqual([[2, 'earlier_rule']]);
  });

  it('are those whose models earlier rules name one by one', async () => {
    const { entries } = await loadCatalog('catalog');
    const ids = entries.filter(({ model: { type } }) => type === 'image').map(({ model: { id } }) => times(id));
    const [last] = unusedRules([...ids, times('type:image')], entries);
    expect(last).toMatchObject({ rule: ids.length + 1, reason: 'earlier_rule' });
  });

  it('are those that name no model, with what may be meant', async () => {
    const { entries } = await loadCatalog('catalog');
    expect(unusedRules([times('openai')], entries)).toEqual([
      {
        rule: 1,
        reason: 'no_model',
        message: 'Rule 1 (openai) matches no model of the catalog. Write vendor:openai for the vendor.',
      },
    ]);
  });

  it('are those with prices that none of their models use', async () => {
    const prices = { credits_per_request: 5 };
    expect(await reasonsOf({ models: 'type:chat', prices }, { models: 'type:image', prices })).toEqual([
      [1, 'no_price'],
    ]);
  });

  it('are none of overlapping globs that each decide about some model', async () => {
    expect(await reasonsOf(times('gpt-5-mini'), times('gpt-*'), times('*'))).toEqual([]);
  });
});
