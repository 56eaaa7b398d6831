import { describe, expect, it } from '@jest/globals';
import type { CatalogEntry } from '../../../src/domain/catalog/catalog.ts';
import type { PlanRule } from '../../../src/domain/plans/plan.ts';
import { entryUnderPlan, multipliedPrice, pricesAboveMax } from '../../../src/domain/plans/price-under-plan.ts';
import { loadCatalog } from '../../../src/services/catalog/load-catalog.ts';

const { entries } = await loadCatalog('catalog');

const aChat = entryOf('chat');
const aVideoWithRules = entries.find(({ model }) => model.parameters.pricingRules !== undefined) ?? aChat;

function entryOf(type: string): CatalogEntry {
  const found = entries.find(({ model }) => model.type === type);
  if (!found) throw new Error(`the catalog has no ${type}`);
  return found;
}

const priced = (entry: CatalogEntry, ...rules: PlanRule[]) => entryUnderPlan(entry, rules).model;

const withPricing = (pricing: Partial<CatalogEntry['model']['pricing']>): CatalogEntry => ({
  ...aChat,
  model: { ...aChat.model, pricing: { ...aChat.model.pricing, ...pricing } },
});

describe('a price under a plan', () => {
  it('of the multiplier 1 is that of the catalog, for every model of the shipped catalog', () => {
    for (const entry of entries) expect(entryUnderPlan(entry, [{ models: '*', multiplier: 1 }])).toEqual(entry);
  });

  it.each([
    [100, 1.1, 110],
    [100, 1.15, 115],
    [300, 0.07, 21],
    [1_000_000_000, 0.000001, 1_000],
    [1, 0.5, 1],
    [3, 1.5, 5],
    [10, 1.000001, 11],
    [7, 1.25, 9],
    [0, 1.25, 0],
  ])('of %d credits times %d is %d, rounded up once without floats', (price, multiplier, credits) => {
    expect(multipliedPrice(price, multiplier)).toBe(credits);
  });

  it('multiplies every price that a model has, at any depth, and no other number', () => {
    const base = withPricing({
      credits_per_1k_input_tokens: 3,
      credits_per_1k_output_tokens: 10,
      credits_per_1k_cached_input_tokens: 1,
      long_input: { above_tokens: 200_001, credits_per_1k_input_tokens: 5 },
    });
    expect(priced(base, { models: '*', multiplier: 1.5 }).pricing).toEqual({
      ...base.model.pricing,
      credits_per_request: 2,
      min_credits_per_request: 2,
      credits_per_1k_input_tokens: 5,
      credits_per_1k_output_tokens: 15,
      credits_per_1k_cached_input_tokens: 2,
      long_input: { above_tokens: 200_001, credits_per_1k_input_tokens: 8 },
    });
  });

  it('has the lowest rule of a media model as its listed price', () => {
    for (const entry of entries.filter(({ model }) => model.parameters.pricingRules !== undefined)) {
      const { pricing, parameters } = priced(entry, { models: '*', multiplier: 1.37 });
      const lowest = Math.min(...(parameters.pricingRules ?? []).map(({ credits }) => credits));
      expect(pricing).toMatchObject({ credits_per_request: lowest, min_credits_per_request: lowest });
    }
  });

  it('is fixed by the members that a rule names, and else that of the catalog', () => {
    const base = withPricing({ long_input: { above_tokens: 10, credits_per_1k_input_tokens: 9 } });
    const prices = {
      credits_per_1k_input_tokens: 200,
      credits_per_request: 7,
      long_input: { credits_per_1k_output_tokens: 4 },
    };
    expect(priced(base, { models: '*', prices }).pricing).toEqual({
      ...base.model.pricing,
      credits_per_1k_input_tokens: 200,
      long_input: { above_tokens: 10, credits_per_1k_input_tokens: 9, credits_per_1k_output_tokens: 4 },
    });
    expect(
      priced(withPricing({}), { models: '*', prices: { long_input: { credits_per_1k_input_tokens: 4 } } }),
    ).toEqual(aChat.model);
  });

  it('is the same for every request of a media model with a fixed price for each request', () => {
    const prices = { credits_per_request: 17, credits_per_1k_input_tokens: 200 };
    const { pricing, parameters } = priced(aVideoWithRules, { models: '*', prices });
    expect(pricing).toEqual({ ...aVideoWithRules.model.pricing, credits_per_request: 17, min_credits_per_request: 17 });
    expect(new Set(parameters.pricingRules?.map(({ credits }) => credits))).toEqual(new Set([17]));
  });

  it('is decided by the first rule that names the model, and is that of the catalog without one', () => {
    const { id } = aChat.model;
    const rules: PlanRule[] = [
      { models: id, multiplier: 2 },
      { models: 'type:chat', multiplier: 3 },
    ];
    expect(priced(aChat, ...rules)).toEqual(priced(aChat, { models: '*', multiplier: 2 }));
    const other = entries.find(({ model }) => model.type === 'chat' && model.id !== id) ?? aChat;
    expect(priced(other, ...rules)).toEqual(priced(other, { models: '*', multiplier: 3 }));
    expect(entryUnderPlan(entryOf('image'), rules)).toBe(entryOf('image'));
  });

  it('above the largest is found, with its model', () => {
    const dear = withPricing({ credits_per_1k_output_tokens: 900_000_000 });
    expect(pricesAboveMax([dear, aVideoWithRules], [{ models: '*', multiplier: 2 }])).toEqual([
      { model: dear.model.id, price: 1_800_000_000 },
    ]);
    expect(pricesAboveMax([dear], [{ models: '*', multiplier: 1.1 }])).toEqual([]);
  });
});
