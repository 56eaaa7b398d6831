import { describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import { parseCatalog } from '../../../src/services/catalog/load-catalog.ts';
import { comparePrices, type PriceList } from '../../../src/domain/catalog/price-comparison.ts';

const about = (id: string, type: string) => ({
  id,
  type,
  owned_by: 'acme',
  display_name: id,
  group: 'G',
  capability: type,
  description: null,
  status: 'active',
});
const chat = (mapping: object) => ({
  ...about('talk', 'chat'),
  pricing: { credits_per_1k_input_tokens: 1, credits_per_1k_output_tokens: 1 },
  private: { groups: ['g'], context_tokens: 1_000_000, upstream: { openai: { model: 'talk-1', ...mapping } } },
});
const clip = (mapping: object) => ({
  ...about('clip', 'video'),
  pricing: { credits_per_request: 1 },
  parameters: {
    prompt: true,
    fields: [
      { key: 'duration', label: 'D', type: 'enum', options: [5, 10], default: 5 },
      { key: 'resolution', label: 'R', type: 'enum', options: ['720p', '1080p'], default: '720p' },
    ],
  },
  private: {
    groups: ['g'],
    upstream: { fal: { model: 'fal-ai/clip', ...mapping }, kling: { model: 'all', cost: { per_request: 1 } } },
  },
});
const compare = (model: object, list: PriceList) => {
  const [first] = comparePrices(parseCatalog(stringify({ models: [model] })).entries, list);
  if (!first) throw new Error('nothing was compared');
  return {
    key: first.key,
    status: first.status,
    differing: first.prices.filter(({ differs }) => differs).map(({ item }) => item),
  };
};

describe('the comparison with a price list', () => {
  const rates = { input: 250_000, output: 2_000_000 };
  const listed = { input_cost_per_token: 2.5e-7, output_cost_per_token: 2e-6 };

  it('finds a difference of more than 1 % in the price of any kind of token', () => {
    const model = chat({ cost: { per_million: { ...rates, reasoning: 3_000_000 } } });
    expect(compare(model, { 'talk-1': listed })).toEqual({ key: 'talk-1', status: 'equal', differing: [] });
    expect(compare(model, { 'talk-1': { ...listed, input_cost_per_token: 2.52e-7 } })).toMatchObject({
      status: 'equal',
    });
    expect(compare(model, { 'talk-1': { ...listed, output_cost_per_token: 2.1e-6 } }).differing).toEqual([
      '1,000,000 output tokens',
    ]);
    // Without a price of its own, cached input costs what input costs.
    const more = {
      cache_creation_input_token_cost: 0,
      cache_read_input_token_cost: 2.5e-8,
      output_cost_per_reasoning_token: 3e-6,
    };
    expect(compare(model, { 'talk-1': { ...listed, ...more } }).differing).toEqual(['1,000,000 cached input tokens']);
  });

  it('includes the prices of long inputs, whichever side has them', () => {
    const tiers = [rates, { above_input_tokens: 200_000, input: 500_000, output: 2_000_000 }];
    const long = { ...listed, input_cost_per_token_above_200k_tokens: 5e-7 };
    expect(compare(chat({ cost: { per_million: tiers } }), { 'talk-1': long })).toMatchObject({ status: 'equal' });
    const missing = ['1,000,000 input tokens, input above 200000'];
    expect(compare(chat({ cost: { per_million: tiers } }), { 'talk-1': listed }).differing).toEqual(missing);
    expect(compare(chat({ cost: { per_million: rates } }), { 'talk-1': long }).differing).toEqual(missing);
  });

  it('takes the price of a media model for the nearest of those that the family offers', () => {
    const cost = [{ when: { resolution: '1080p' }, per_second: 90_000 }, { per_second: 50_000 }];
    const bySecond = { 'fal_ai/fal-ai/clip': { output_cost_per_second: 0.05 } };
    expect(compare(clip({ cost }), bySecond)).toMatchObject({ status: 'equal' });
    expect(compare(clip({ cost }), { 'fal-ai/clip': { output_cost_per_second: 0.09 } })).toMatchObject({
      status: 'equal',
    });
    expect(compare(clip({ cost, only: { resolution: ['1080p'] } }), bySecond).differing).toEqual(['1 second']);
    expect(
      compare(clip({ cost: { per_request: 40_000 } }), { 'fal-ai/clip': { output_cost_per_image: 0.04 } }),
    ).toEqual({
      key: 'fal-ai/clip',
      status: 'equal',
      differing: [],
    });
    const untimed = { ...clip({ cost: { per_request: 40_000 } }), parameters: { prompt: true } };
    expect(compare(untimed, bySecond)).toMatchObject({ status: 'not_comparable' });
    expect(compare(clip({ cost }), { 'fal-ai/clip': { mode: 'video' } })).toMatchObject({ status: 'not_comparable' });
  });

  it('tells a difference that the mapping explains from one that it does not', () => {
    const dearer = { per_million: { ...rates, input: 2 * rates.input } };
    expect(compare(chat({ cost: dearer }), { 'talk-1': listed }).status).toBe('differs');
    const explained = chat({ cost: dearer, price_differs: 'The list is older.' });
    expect(compare(explained, { 'talk-1': listed }).status).toBe('explained');
  });

  it('uses the key that the mapping names, and says that it does not know a model', () => {
    const model = chat({ cost: { per_million: rates }, price_key: 'their/talk' });
    expect(compare(model, { 'their/talk': listed, 'talk-1': {} })).toMatchObject({
      key: 'their/talk',
      status: 'equal',
    });
    expect(compare(model, { 'talk-1': listed })).toEqual({ key: null, status: 'unknown', differing: [] });
  });
});
