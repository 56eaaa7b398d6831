import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { loadCatalog } from '../../../src/services/catalog/load-catalog.ts';
import { acceptedParameters, listValues, resolveMediaRequest } from '../../../src/domain/catalog/parameters.ts';
import { taskSnapshot } from '../../../src/domain/tasks/task-snapshot.ts';
import type { TokenUsage } from '../../../src/domain/catalog/token-classes.ts';
import { chatCost, mediaCost } from '../../../src/domain/catalog/upstream-cost.ts';
import type { CostRule, TokenRates } from '../../../src/domain/catalog/cost-schema.ts';

describe('the cost of a media job', () => {
  const rules: CostRule[] = [
    { when: { reference_images: true, img_size: ['2k', '4k'] }, per_request: 70 },
    { when: { img_size: '4k' }, per_image: 40 },
    { when: { generate_audio: false }, per_second: 5 },
    { per_second: 9 },
  ];

  it('is the price of the first rule that the resolved request meets', () => {
    expect(mediaCost(rules, { img_size: '4k', reference_images: ['file_1'] })).toBe(70);
    expect(mediaCost(rules, { img_size: '4k' })).toBe(40);
    expect(mediaCost(rules, { img_size: '4k', n: 3 })).toBe(120);
    expect(mediaCost(rules, { duration: 8, generate_audio: false })).toBe(40);
    expect(mediaCost(rules, { duration: 8, generate_audio: true })).toBe(72);
    expect(mediaCost([{ when: { image: false }, per_request: 1 }, { per_request: 2 }], { image: 'file_1' })).toBe(2);
  });

  it('does not depend on the rules after the first match, and is a whole multiple of its price', () => {
    const when = fc.record(
      { img_size: fc.constantFrom('1k', '2k'), duration: fc.constantFrom(5, 10), image: fc.boolean() },
      { requiredKeys: [] },
    );
    const price = fc.nat(1_000_000_000);
    const rule = fc.oneof(
      fc.record({ when, per_request: price }),
      fc.record({ when, per_second: price }),
      fc.record({ when, per_image: price }),
    );
    const request = fc.record(
      { img_size: fc.constantFrom('1k', '2k'), duration: fc.constantFrom(5, 10), image: fc.constant('file_1') },
      { requiredKeys: ['img_size', 'duration'] },
    );
    fc.assert(
      fc.property(fc.array(rule), request, price, fc.array(rule), (before, input, each, after) => {
        const isMet = ({ when: condition }: CostRule) =>
          Object.entries(condition ?? {}).every(([key, value]) =>
            key === 'image'
              ? Object.hasOwn(input, key) === value
              : Object.entries(input).some(([k, v]) => k === key && v === value),
          );
        const unmet: CostRule[] = before.filter((one) => !isMet(one));
        expect(mediaCost([...unmet, { per_second: each }, ...after], input)).toBe(each * input.duration);
        expect(mediaCost([...unmet, { per_request: each }, ...after], input)).toBe(each);
      }),
    );
  });

  it('is an error if no rule matches, or if the duration of a price per second is not a whole number', () => {
    expect(() => mediaCost([{ when: { img_size: '1k' }, per_request: 1 }], { img_size: '2k' })).toThrow('No cost rule');
    for (const duration of [undefined, 2.5, -1, '5']) {
      expect(() => mediaCost([{ per_second: 1 }], duration === undefined ? {} : { duration })).toThrow('whole number');
    }
    expect(() => mediaCost([{ per_second: 1_000_000_000 }], { duration: 2 ** 52 })).toThrow('exactly');
  });

  it('exists for every request that the shipped catalog accepts, at every family that can make it', async () => {
    const { entries } = await loadCatalog('catalog');
    const media = entries.filter(({ model }) => model.type !== 'chat');
    const request = fc.constantFrom(...media).chain((entry) => {
      const fields = [...acceptedParameters(entry)].map(([key, accepted]): [string, fc.Arbitrary<unknown>] => [
        key,
        fc.constantFrom(undefined, ...(listValues(accepted) ?? [])),
      ]);
      return fc.record({ entry: fc.constant(entry), body: fc.record(Object.fromEntries(fields)) });
    });
    fc.assert(
      fc.property(request, ({ entry, body }) => {
        const { input } = resolveMediaRequest(entry, { prompt: 'a fox', ...body });
        for (const { cost_micro_usd: cost } of Object.values(taskSnapshot(entry, input).upstream)) {
          expect(Number.isSafeInteger(cost)).toBe(true);
          expect(cost).toBeGreaterThanOrEqual(0);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('is all that a task keeps of the costs and the evidence of its catalog entry', async () => {
    const { entries } = await loadCatalog('catalog');
    const entry = entries.find(({ model }) => model.id === 'aurora-image-1');
    if (!entry) throw new Error('The shipped catalog has no aurora-image-1.');
    const { input } = resolveMediaRequest(entry, { prompt: 'a fox' });
    const kept = taskSnapshot(entry, input);
    expect(kept.upstream['fal']?.cost_micro_usd).toBe(20_000);
    expect(JSON.stringify(kept)).not.toMatch(/"cost"|verified|price_key|price_differs|loss_ok/);
  });
});

describe('the cost of a chat', () => {
  const rate = fc.nat(1_000_000_000);
  const rates = fc.record({
    input: rate,
    output: rate,
    cached_input: rate,
    cache_write: rate,
    cache_write_1h: rate,
    reasoning: rate,
  });
  const count = fc.nat(1_000_000_000);
  const tokens = fc.record({
    input: count,
    output: count,
    cached: count,
    cacheWrite: count,
    cacheWrite1h: count,
    reasoning: count,
  });
  const costOf = (price: TokenRates, billed: Partial<TokenUsage>) =>
    chatCost(
      { per_million: [price] },
      { input: 0, output: 0, cached: 0, cacheWrite: 0, cacheWrite1h: 0, reasoning: 0, ...billed },
    );

  it('is rounded up once', () => {
    expect(costOf({ input: 1, output: 1 }, { input: 400_000, output: 600_000 })).toBe(1);
    expect(costOf({ input: 1, output: 1 }, { input: 400_000, output: 600_001 })).toBe(2);
    expect(costOf({ input: 250_000, output: 2_000_000 }, { input: 1_000, output: 1_000 })).toBe(2_250);
  });

  it('counts cached input, input written to the cache and reasoning at their own rates', () => {
    const price = { input: 3_000_000, output: 15_000_000, cached_input: 300_000, cache_write: 3_750_000, reasoning: 9 };
    expect(costOf(price, { input: 10, cached: 6, cacheWrite: 3 })).toBe(Math.ceil(3 + 1.8 + 11.25));
    expect(costOf(price, { input: 3, cacheWrite: 3, cacheWrite1h: 2 })).toBe(Math.ceil(3 * 3.75));
    expect(costOf({ ...price, cache_write_1h: 6_000_000 }, { input: 3, cacheWrite: 3, cacheWrite1h: 2 })).toBe(16);
    expect(costOf(price, { output: 2_000_000, reasoning: 2_000_000 })).toBe(18);
  });

  it('counts them as input and output if they have no rates', () => {
    fc.assert(
      fc.property(rate, rate, tokens, (input, output, billed) => {
        const plain = costOf({ input, output }, { input: billed.input, output: billed.output });
        expect(costOf({ input, output }, billed)).toBe(plain);
      }),
    );
  });

  it('uses the rates of the highest limit that the input exceeds', () => {
    const tiers = {
      per_million: [
        { input: 1_000_000, output: 0 },
        { above_input_tokens: 200, input: 2_000_000, output: 0 },
      ],
    };
    const billed = { output: 0, cached: 0, cacheWrite: 0, cacheWrite1h: 0, reasoning: 0 };
    expect([0, 200, 201].map((input) => chatCost(tiers, { ...billed, input }))).toEqual([0, 200, 402]);
  });

  it('equals exact arithmetic on integers of any size, and never counts a token twice', () => {
    fc.assert(
      fc.property(rates, tokens, (price, billed) => {
        const cached = Math.min(billed.cached, billed.input);
        const written = Math.min(billed.cacheWrite, billed.input - cached);
        const kept = Math.min(billed.cacheWrite1h, written);
        const reasoning = Math.min(billed.reasoning, billed.output);
        const sum = (
          [
            [billed.input - cached - written, price.input],
            [cached, price.cached_input],
            [written - kept, price.cache_write],
            [kept, price.cache_write_1h],
            [billed.output - reasoning, price.output],
            [reasoning, price.reasoning],
          ] as const
        ).reduce((total, [amount, each]) => total + BigInt(amount) * BigInt(each), 0n);
        const expected = sum / 1_000_000n + (sum % 1_000_000n === 0n ? 0n : 1n);
        expect(BigInt(costOf(price, billed))).toBe(expected);
      }),
    );
  });

  it('never decreases with more tokens at the same rates', () => {
    fc.assert(
      fc.property(rates, tokens, count, (price, billed, more) => {
        const grown = { ...billed, input: billed.input + more, output: billed.output + more };
        expect(costOf(price, grown)).toBeGreaterThanOrEqual(costOf(price, billed));
      }),
    );
  });
});
