import { beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { loadCatalog } from '../../../src/services/catalog/load-catalog.ts';
import type { CatalogEntry } from '../../../src/domain/catalog/catalog.ts';
import { acceptedParameters, listValues, resolveMediaRequest } from '../../../src/domain/catalog/parameters.ts';
import { chatCredits, mediaCredits } from '../../../src/domain/ledger/pricing.ts';
import type { JsonObject } from '../../../src/domain/json.ts';
import { spec } from '../../spec/spec.ts';

let media: CatalogEntry[] = [];
let shippedMedia: CatalogEntry[] = [];
beforeAll(async () => {
  const mediaOf = async (folder: string) =>
    (await loadCatalog(folder)).entries.filter(({ model }) => model.type !== 'chat');
  [media, shippedMedia] = await Promise.all([mediaOf('test/support/catalog'), mediaOf('catalog')]);
});

const entryOf = (id: string): CatalogEntry => {
  const entry = media.find(({ model }) => model.id === id);
  if (entry === undefined) throw new Error(`The catalog has no ${id}.`);
  return entry;
};

describe('the price of a media request', () => {
  it('is the price of the rule that matches the resolved parameters, defaults included', () => {
    const { model } = entryOf('aurora-image-1');
    const price = (body: Record<string, unknown>) =>
      mediaCredits(model, resolveMediaRequest(entryOf('aurora-image-1'), { prompt: 'a fox', ...body }).input);
    expect([price({}), price({ img_size: '1k' }), price({ img_size: '2k' }), price({ img_size: '4k' })]).toEqual([
      4, 4, 8, 16,
    ]);
  });

  it('is the flat price for a model without rules', () => {
    expect(mediaCredits(entryOf('flux-1.1-pro').model, { prompt: 'a fox' })).toBe(6);
  });

  it('is an error if no rule matches or the price is not a positive integer', () => {
    const { model } = entryOf('aurora-image-1');
    expect(() => mediaCredits(model, { prompt: 'a fox', img_size: '9k' })).toThrow('No pricing rule');
    expect(() => mediaCredits(model, { prompt: 'a fox' })).toThrow('No pricing rule');
    for (const credits of [0, -1, 1.5, NaN, 2 ** 53]) {
      const pricing = { ...model.pricing, credits_per_request: credits };
      expect(() => mediaCredits({ ...model, pricing, parameters: { prompt: true } }, { prompt: 'a' })).toThrow(
        'Bad price',
      );
    }
  });

  it('is decided by a matching rule with the most conditions, of equal ones by the dearest, in any order', () => {
    const { model } = entryOf('aurora-image-1');
    const when = (credits: number, ...all: [key: string, value: string | boolean][]) => ({
      match: {
        key: 'duration' as const,
        value: 8,
        ...(all.length > 0 && { all: all.map(([key, value]) => ({ key, value })) }),
      },
      credits,
    });
    const rules = [
      when(400),
      when(200, ['generate_audio', false]),
      when(300, ['resolution', '720p']),
      when(100, ['generate_audio', false], ['resolution', '720p']),
      when(250, ['generate_audio', false], ['image', true]),
    ];
    const clip = { prompt: 'a fox', duration: 8 };
    for (const pricingRules of [rules, rules.toReversed()]) {
      const price = (input: JsonObject) =>
        mediaCredits({ ...model, parameters: { pricingRules } }, { ...clip, ...input });
      expect(price({ generate_audio: true, resolution: '1080p' })).toBe(400);
      expect(price({ generate_audio: false, resolution: '1080p' })).toBe(200);
      expect(price({ generate_audio: true, resolution: '720p' })).toBe(300);
      expect(price({ generate_audio: false, resolution: '720p' })).toBe(100);
      expect(price({ generate_audio: false, resolution: '720p', image: 'file_1' })).toBe(250);
      expect(price({})).toBe(400);
      expect(() => price({ duration: 9 })).toThrow('No pricing rule');
    }
  });

  it('exists for every combination that the shipped catalog accepts, and is at least 1 and the listed minimum', () => {
    const request = fc.constantFrom(...shippedMedia).chain((entry) => {
      const fields = [...acceptedParameters(entry)].map(([key, accepted]): [string, fc.Arbitrary<unknown>] => [
        key,
        fc.constantFrom(undefined, ...(listValues(accepted) ?? [])),
      ]);
      return fc.record({ entry: fc.constant(entry), body: fc.record(Object.fromEntries(fields)) });
    });
    fc.assert(
      fc.property(request, ({ entry, body }) => {
        const { input } = resolveMediaRequest(entry, { prompt: 'a fox', ...body });
        const credits = mediaCredits(entry.model, input);
        expect(Number.isSafeInteger(credits)).toBe(true);
        expect(credits).toBeGreaterThanOrEqual(Math.max(1, entry.model.pricing.min_credits_per_request));
      }),
      { numRuns: 500 },
    );
  });
});

describe('the price of a chat answer', () => {
  const pricing = (input: number, output: number, min = 1) => ({
    credits_per_1k_input_tokens: input,
    credits_per_1k_output_tokens: output,
    min_credits_per_request: min,
  });
  const rates = fc.record({ input: fc.nat(100_000), output: fc.nat(100_000), min: fc.integer({ min: 1, max: 1_000 }) });
  const tokens = fc.record({ input: fc.nat(10_000_000), output: fc.nat(10_000_000) });

  it('is rounded up once, at the end', () => {
    spec('2.2 cost of tokens');
    expect(chatCredits(pricing(3, 15), { input: 1_000, output: 1_000 })).toBe(18);
    expect(chatCredits(pricing(1, 1), { input: 1_500, output: 1_500 })).toBe(3);
    expect(chatCredits(pricing(1, 1), { input: 1_500, output: 1_501 })).toBe(4);
    expect(chatCredits(pricing(1, 1, 5), { input: 1, output: 1 })).toBe(5);
    expect(chatCredits(pricing(2, 8), { input: 0, output: 0 })).toBe(1);
  });

  it('equals exact arithmetic on integers of any size', () => {
    fc.assert(
      fc.property(rates, tokens, ({ input, output, min }, usage) => {
        const milli = BigInt(usage.input) * BigInt(input) + BigInt(usage.output) * BigInt(output);
        const whole = milli / 1000n + (milli % 1000n === 0n ? 0n : 1n);
        const expected = whole > BigInt(min) ? whole : BigInt(min);
        expect(BigInt(chatCredits(pricing(input, output, min), usage))).toBe(expected);
      }),
    );
  });

  it('is never below the minimum and never decreases with more tokens', () => {
    fc.assert(
      fc.property(rates, tokens, tokens, ({ input, output, min }, usage, more) => {
        const price = pricing(input, output, min);
        const credits = chatCredits(price, usage);
        const grown = { input: usage.input + more.input, output: usage.output + more.output };
        expect(credits).toBeGreaterThanOrEqual(min);
        expect(chatCredits(price, grown)).toBeGreaterThanOrEqual(credits);
      }),
    );
  });

  it('counts a negative number as zero and refuses a number that is not a safe integer', () => {
    expect(chatCredits(pricing(1_000, 1_000), { input: -5, output: 2 })).toBe(2);
    for (const count of [0.5, NaN, Infinity, 2 ** 53]) {
      expect(() => chatCredits(pricing(1, 1), { input: count, output: 0 })).toThrow('safe integer');
    }
    const most = Number.MAX_SAFE_INTEGER;
    expect(() => chatCredits(pricing(100_000, 1), { input: most, output: most })).toThrow('Bad price');
  });
});
