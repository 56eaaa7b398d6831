import { describe, expect, it } from '@jest/globals';
import type { CatalogEntry, UpstreamMapping } from '../../../src/domain/catalog/catalog.ts';
import type { Pricing } from '../../../src/domain/catalog/price-schema.ts';
import { modelMargins } from '../../../src/domain/catalog/margins.ts';
import type { UpstreamCost } from '../../../src/domain/catalog/cost-schema.ts';

const creditValue = 10_000;

function aModel(
  upstream: Record<string, Partial<UpstreamMapping> & { cost: UpstreamCost }>,
  isChat = false,
): CatalogEntry {
  const mappings = Object.entries(upstream).map(([family, more]): [string, UpstreamMapping] => [
    family,
    { model: 'm', parameters: {}, ...more },
  ]);
  return {
    model: {
      id: 'm',
      object: 'model',
      owned_by: 'acme',
      display_name: 'M',
      group: 'M',
      capability: 'x',
      description: null,
      type: isChat ? 'chat' : 'video',
      status: 'active',
      pricing: {
        unit: isChat ? 'tokens' : 'request',
        credits_per_request: 5,
        min_credits_per_request: 2,
        credits_per_1k_input_tokens: isChat ? 2 : 0,
        credits_per_1k_output_tokens: isChat ? 8 : 0,
      },
      parameters: isChat
        ? { messages: true }
        : {
            prompt: true,
            duration: [5, 10],
            resolution: ['720p', '1080p'],
            pricingRules: [5, 10].map((value) => ({ match: { key: 'duration', value }, credits: value })),
            fields: [
              { key: 'duration', label: 'D', type: 'enum', options: [5, 10], default: 5 },
              { key: 'resolution', label: 'R', type: 'enum', options: ['720p', '1080p'], default: '720p' },
            ],
          },
    },
    private: {
      public: true,
      groups: ['g'],
      variant_field: null,
      reference_images_max: 0,
      image_tokens: 0,
      context_tokens: isChat ? 200_000 : null,
      aliases: {},
      upstream: Object.fromEntries(mappings),
    },
  };
}

describe('the margins of a model', () => {
  const byResolution: UpstreamCost = [{ when: { resolution: '1080p' }, per_second: 12_000 }, { per_second: 4_000 }];

  it('are those of the cheapest and the dearest request, over all mappings that offer it', () => {
    const entry = aModel({
      fal: { cost: byResolution },
      kling: { cost: [{ per_second: 3_000 }], only: { duration: [10] } },
    });
    expect(modelMargins(entry, creditValue).margins).toMatchObject([
      {
        request: 'cheapest',
        family: 'fal',
        combination: { duration: 5, resolution: '720p' },
        cost: 20_000,
        margin: 30_000,
      },
      {
        request: 'dearest',
        family: 'fal',
        combination: { duration: 10, resolution: '1080p' },
        cost: 120_000,
        margin: -20_000,
      },
    ]);
  });

  it('of requests that all cost the same are those of the lowest and of the highest price', () => {
    const { margins } = modelMargins(aModel({ fal: { cost: [{ per_request: 20_000 }] } }), creditValue);
    expect(margins).toMatchObject([
      { request: 'cheapest', combination: { duration: 5 }, price: 50_000, margin: 30_000 },
      { request: 'dearest', combination: { duration: 10 }, price: 100_000, margin: 80_000 },
    ]);
  });

  it('are the smallest ones of the requests that cost the most', () => {
    const cost = [{ when: { resolution: '1080p' }, per_request: 90_000 }, { per_request: 20_000 }];
    const [, dearest] = modelMargins(aModel({ fal: { cost } }), creditValue).margins;
    expect(dearest).toMatchObject({
      request: 'dearest',
      combination: { duration: 5, resolution: '1080p' },
      margin: -40_000,
    });
  });

  it('have as losses the worst request of each family that the catalog does not explain', () => {
    const costs = { fal: { cost: byResolution }, kling: { cost: [{ per_second: 11_000 }] } };
    const worst = (entry: CatalogEntry) =>
      modelMargins(entry, creditValue).losses.map(({ family, margin }) => [family, margin]);
    expect(worst(aModel(costs))).toEqual([
      ['fal', -20_000],
      ['kling', -10_000],
    ]);
    expect(worst(aModel({ ...costs, kling: { ...costs.kling, loss_ok: 'a trial' } }))).toEqual([['fal', -20_000]]);
    const entry = aModel(costs);
    expect(worst({ ...entry, private: { ...entry.private, loss_ok: 'a trial' } })).toEqual([]);
    expect(worst({ ...entry, model: { ...entry.model, status: 'inactive' } })).toEqual([]);
    expect(worst(aModel({ fal: { cost: byResolution, only: { resolution: ['720p'] } } }))).toEqual([]);
  });

  it('of a chat are per 1,000 tokens of each kind, for inputs that fit its context, beside the minimum', () => {
    const cost = {
      per_million: [
        { input: 1_000_000, cached_input: 100_000, output: 5_000_000, reasoning: 90_000_000 },
        { above_input_tokens: 100_000, input: 3_000_000, output: 6_000_000 },
        { above_input_tokens: 200_000, input: 900_000_000, output: 900_000_000 },
      ],
    };
    const { margins, losses } = modelMargins(aModel({ openai: { cost } }, true), creditValue);
    const shown = margins.map(({ request, unit, combination, cost: each }) => [
      request,
      unit,
      combination['tokens'],
      each,
    ]);
    expect(shown).toEqual([
      ['cheapest', '1,000 input tokens', 'cached_input', 100],
      ['dearest', '1,000 input tokens', 'input', 3_000],
      ['cheapest', '1,000 output tokens', 'output', 5_000],
      ['dearest', '1,000 output tokens', 'reasoning', 90_000],
      ['minimum', 'request', undefined, 0],
    ]);
    expect(losses).toMatchObject([{ family: 'openai', unit: '1,000 output tokens', margin: -10_000 }]);
  });

  it('of a chat compare the price of each class and tier with the cost of that class and tier', () => {
    const base = aModel(
      {
        openai: {
          cost: {
            per_million: [
              { input: 1_000, cached_input: 100, output: 5_000 },
              { above_input_tokens: 100_000, input: 2_000, cached_input: 1_000, output: 5_000 },
            ],
          },
        },
      },
      true,
    );
    const priced = (more: Partial<Pricing>) =>
      modelMargins(
        {
          ...base,
          model: {
            ...base.model,
            pricing: {
              ...base.model.pricing,
              credits_per_1k_input_tokens: 2,
              credits_per_1k_cached_input_tokens: 1,
              credits_per_1k_output_tokens: 9,
              ...more,
            },
          },
        },
        1,
      ).losses.map(({ combination, margin }) => ({ ...combination, margin }));
    expect(priced({})).toEqual([]);
    expect(priced({ credits_per_1k_cached_input_tokens: 0 })).toMatchObject([{ tokens: 'cached_input', margin: -1 }]);
    expect(priced({ credits_per_1k_cache_write_tokens: 0 })).toMatchObject([{ tokens: 'cache_write', margin: -2 }]);
    expect(priced({ long_input: { above_tokens: 100_000, credits_per_1k_input_tokens: 1 } })).toEqual([
      { tokens: 'input', above_input_tokens: 100_000, margin: -1 },
    ]);
    // A tier of the price that begins within one of the cost.
    expect(priced({ long_input: { above_tokens: 150_000, credits_per_1k_input_tokens: 1 } })).toEqual([
      { tokens: 'input', above_input_tokens: 150_000, margin: -1 },
    ]);
    expect(priced({ credits_per_1k_reasoning_tokens: 1 })).toMatchObject([{ tokens: 'reasoning', margin: -4 }]);
  });

  it('of a clip compare the price of each combination with its cost, also where a rule has further conditions', () => {
    const cost = [{ when: { resolution: '1080p' }, per_second: 12_000 }, { per_second: 4_000 }];
    const base = aModel({ fal: { cost } });
    const priced = (credits720: number) =>
      modelMargins(
        {
          ...base,
          model: {
            ...base.model,
            parameters: {
              ...base.model.parameters,
              pricingRules: [5, 10].flatMap((seconds) => [
                { match: { key: 'duration' as const, value: seconds }, credits: seconds * 15_000 },
                {
                  match: { key: 'duration' as const, value: seconds, all: [{ key: 'resolution', value: '720p' }] },
                  credits: seconds * credits720,
                },
              ]),
            },
          },
        },
        1,
      );
    expect(priced(5_000)).toMatchObject({
      losses: [],
      margins: [
        { combination: { duration: 5, resolution: '720p' }, credits: 25_000, cost: 20_000 },
        { combination: { duration: 10, resolution: '1080p' }, credits: 150_000, cost: 120_000 },
      ],
    });
    expect(priced(3_000).losses).toMatchObject([
      { combination: { duration: 10, resolution: '720p' }, margin: -10_000 },
    ]);
  });
});
