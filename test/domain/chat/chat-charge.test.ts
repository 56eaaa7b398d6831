import { describe, expect, it } from '@jest/globals';
import type { ChatReply, ChatRequest, ChatUsage } from '../../../src/domain/chat/chat.ts';
import {
  chatHold,
  heldCredits,
  settledCredits,
  settledUsage,
  type ChatHold,
} from '../../../src/domain/chat/chat-hold.ts';
import { entryUnderPlan } from '../../../src/domain/plans/price-under-plan.ts';
import { loadCatalog } from '../../../src/services/catalog/load-catalog.ts';
import { likelyTokens } from '../../../src/domain/chat/likely-tokens.ts';
import { costDetails } from '../../../src/domain/ledger/pricing.ts';
import type { Pricing } from '../../../src/domain/catalog/price-schema.ts';

/** The class of a token, and the members of a price that count for it, the first that is given. */
const members = {
  input: ['credits_per_1k_input_tokens'],
  cached: ['credits_per_1k_cached_input_tokens', 'credits_per_1k_input_tokens'],
  write: ['credits_per_1k_cache_write_tokens', 'credits_per_1k_input_tokens'],
  hour: ['credits_per_1k_cache_write_1h_tokens', 'credits_per_1k_cache_write_tokens', 'credits_per_1k_input_tokens'],
  output: ['credits_per_1k_output_tokens'],
  reasoning: ['credits_per_1k_reasoning_tokens', 'credits_per_1k_output_tokens'],
} as const;
type Class = keyof typeof members;

/** What 1,000 tokens of a class cost in a request with this input: the first member that is given, of the long input before the others. */
function priceOf(pricing: Pricing, tokens: Class, input: number): number {
  const long = pricing.long_input && input > pricing.long_input.above_tokens ? [pricing.long_input] : [];
  for (const prices of [...long, pricing]) {
    for (const member of members[tokens]) if (prices[member] !== undefined) return prices[member];
  }
  throw new Error(`no price for ${tokens}`);
}

/** Where a token of a usage belongs, each counted once: what was read from the cache, then what was written to it, then the rest. */
function classesOf(input: number, output: number, usage: ChatUsage | null): Record<Class, number> {
  const counted = (value: number | undefined) => (Number.isSafeInteger(value) && Number(value) > 0 ? Number(value) : 0);
  const take = (left: number, wanted: number | undefined) => (counted(wanted) > left ? left : counted(wanted));
  // Above a thousand million, a count is a fault of the counter.
  const believed = (value: number | undefined) => (counted(value) > 1_000_000_000 ? 0 : value);
  const cached = take(input, believed(usage?.cachedTokens));
  const written = take(input - cached, believed(usage?.cacheWriteTokens));
  const hour = take(written, believed(usage?.cacheWrite1hTokens));
  const reasoning = take(output, believed(usage?.reasoningTokens));
  return {
    input: input - cached - written,
    cached,
    write: written - hour,
    hour,
    output: output - reasoning,
    reasoning,
  };
}

/** Prices of which hundredths are multiplied by a plan: rounded up to a whole number once, at the price. */
const planned = (price: number, hundredths: number): bigint => (BigInt(price) * BigInt(hundredths) + 99n) / 100n;

function formula(pricing: Pricing, hundredths: number, tokens: Record<Class, number>): number {
  const input = tokens.input + tokens.cached + tokens.write + tokens.hour;
  let thousandths = 0n;
  for (const each of Object.keys(members) as Class[])
    thousandths += BigInt(tokens[each]) * planned(priceOf(pricing, each, input), hundredths);
  let credits = thousandths / 1_000n;
  if (credits * 1_000n < thousandths) credits += 1n;
  return Math.max(Number(credits), Number(planned(pricing.min_credits_per_request, hundredths)));
}

const { entries } = await loadCatalog('test/support/catalog');

interface Case {
  usage: ChatUsage | null;
  content: string | null;
  /** The stream broke off, so that its counts are those of its beginning. */
  isBroken: boolean;
  counted: { input: number; output: number } | null;
  prompt: number;
  maxTokens: number;
}

/** The tokens that are charged, by the rules; null for an empty answer, which is free. */
function chargedTokens({ usage, content, isBroken, counted }: Case, hold: ChatHold): Record<Class, number> | null {
  const usable = (value: number | null | undefined, zeroMeans: boolean): number | null => {
    if (value === null || value === undefined || !Number.isSafeInteger(value) || value > 1_000_000_000) return null;
    return value === 0 && zeroMeans ? null : Math.max(0, value);
  };
  const [reportedInput, reportedOutput] = [
    usable(usage?.inputTokens, true),
    usable(usage?.outputTokens, Boolean(content)),
  ];
  if (!content && (reportedOutput ?? 0) === 0) return null;
  const likelyInput = counted ? counted.input + hold.apartTokens : hold.likelyInputTokens;
  const input = reportedInput ?? Math.min(likelyInput, hold.inputTokens);
  let output = reportedOutput ?? 0;
  if (reportedOutput === null || isBroken) {
    const likely = counted?.output ?? Math.ceil(likelyTokens(content ?? ''));
    output = Math.max(output, Math.min(likely, hold.outputTokens));
  }
  const { inputTokens: _in, outputTokens: _out, reasoningTokens, ...ofInput } = usage ?? {};
  return classesOf(input, output, {
    inputTokens: null,
    outputTokens: null,
    ...(reportedInput !== null && ofInput),
    ...(reportedOutput !== null && { reasoningTokens }),
  });
}

/** A seeded source of random numbers (mulberry32). The arbitraries of fast-check would take twenty times as long for so many cases. */
class Dice {
  #state: number;
  constructor(seed: number) {
    this.#state = seed;
  }
  /** A whole number from 0 to `most`. */
  upTo(most: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let bits = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return Math.floor((((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32) * (most + 1));
  }
  of<T>(values: readonly T[]): T {
    return values[this.upTo(values.length - 1)] as T;
  }
  /** Absent in one of `n` cases. */
  maybe<T>(n: number, value: T): T | undefined {
    return this.upTo(n - 1) === 0 ? undefined : value;
  }
  price(least: number): number {
    return this.upTo(this.of([20, 100_000]) - least) + least;
  }
  classPrices() {
    return {
      credits_per_1k_cached_input_tokens: this.maybe(3, this.price(0)),
      credits_per_1k_cache_write_tokens: this.maybe(3, this.price(0)),
      credits_per_1k_cache_write_1h_tokens: this.maybe(3, this.price(0)),
      credits_per_1k_reasoning_tokens: this.maybe(3, this.price(0)),
    };
  }
  pricing(): Pricing {
    return {
      unit: 'tokens',
      credits_per_request: 1,
      credits_per_1k_input_tokens: this.price(1),
      credits_per_1k_output_tokens: this.price(1),
      min_credits_per_request: 1 + this.upTo(this.of([0, 0, 1_000])),
      ...this.classPrices(),
      long_input: this.maybe(3, {
        above_tokens: 1 + this.upTo(this.of([300, 300_000])),
        credits_per_1k_input_tokens: this.maybe(3, this.price(1)),
        credits_per_1k_output_tokens: this.maybe(3, this.price(1)),
        ...this.classPrices(),
      }),
    };
  }
  count(): number {
    if (this.upTo(12) === 0) return this.of([0, -7, 0.5, NaN, Infinity, 2_000_000_000, 2 ** 60]);
    return this.upTo(this.of([400, 400, 400_000]));
  }
  usage(): ChatUsage {
    return {
      inputTokens: this.maybe(8, this.count()) ?? null,
      outputTokens: this.maybe(8, this.count()) ?? null,
      cachedTokens: this.maybe(3, this.count()),
      cacheWriteTokens: this.maybe(3, this.count()),
      cacheWrite1hTokens: this.maybe(3, this.count()),
      reasoningTokens: this.maybe(3, this.count()),
    };
  }
  case(): Case {
    return {
      usage: this.maybe(10, this.usage()) ?? null,
      content: this.maybe(8, 'a'.repeat(this.upTo(60))) ?? null,
      isBroken: this.of([true, false]),
      counted: this.maybe(3, { input: this.upTo(400), output: this.upTo(400) }) ?? null,
      prompt: this.upTo(100),
      maxTokens: 16 + this.upTo(400),
    };
  }
}

const request = ({ prompt, maxTokens }: Case): ChatRequest => ({
  model: 'm',
  messages: [{ role: 'user', content: 'x'.repeat(prompt) }],
  tools: [],
  maxTokens,
  extra: {},
});
const reply = ({ content, usage, isBroken }: Case): ChatReply => ({
  content,
  refusal: null,
  toolCalls: [],
  finishReason: 'stop',
  ...(isBroken && usage !== null && { hasInterimCounts: true as const }),
  usage,
});

/** The prices of a plan that multiplies those of every model. */
function underPlan(pricing: Pricing, hundredths: number): Pricing {
  const entry = entries.find(({ model }) => model.type === 'chat');
  if (!entry) throw new Error('the catalog has no chat model');
  const priced = { ...entry, model: { ...entry.model, pricing } };
  return entryUnderPlan(priced, [{ models: '*', multiplier: hundredths / 100 }]).model.pricing;
}

describe('the charge of a chat', () => {
  it('equals the sum of the tokens of each class times their price, rounded up once, in 100,000 random usages under random plans', () => {
    const seed = Math.floor(Math.random() * 2 ** 32);
    const dice = new Dice(seed);
    let [base, hundredths] = [dice.pricing(), 100];
    let pricing = base;
    for (let n = 0; n < 100_000; n += 1) {
      if (n % 10 === 0) {
        [base, hundredths] = [dice.pricing(), 1 + dice.upTo(dice.of([150, 1_000]))];
        pricing = underPlan(base, hundredths);
      }
      const each = dice.case();
      const hold = chatHold(request(each), 0);
      const held = heldCredits(pricing, hold);
      const settled = settledUsage(reply(each), hold, each.counted);
      const { credits, undercharged } = settledCredits(pricing, settled, held);
      const tokens = chargedTokens({ ...each, isBroken: each.isBroken && each.usage !== null }, hold);
      const expected = tokens === null ? 0 : formula(base, hundredths, tokens);
      const isWithin = settled.input <= hold.inputTokens && settled.output <= hold.outputTokens;
      const details = Object.values(costDetails(pricing, settled, credits)) as number[];
      const isRight =
        credits === Math.min(expected, held) &&
        undercharged === expected - credits &&
        (undercharged === 0 || !isWithin) &&
        details.every((part) => Number.isSafeInteger(part) && part >= 0) &&
        details.reduce((sum, part) => sum + part, 0) === credits;
      // Not compared by a matcher, which would take most of the time.
      if (!isRight)
        throw new Error(
          JSON.stringify({ seed, n, each, base, hundredths, held, settled, credits, undercharged, expected, details }),
        );
    }
  });

  it('has for a hold the dearest class and tier that its tokens can have', () => {
    const pricing: Pricing = {
      unit: 'tokens',
      credits_per_request: 1,
      min_credits_per_request: 1,
      credits_per_1k_input_tokens: 1_000,
      credits_per_1k_cache_write_1h_tokens: 2_000,
      credits_per_1k_output_tokens: 5_000,
      long_input: { above_tokens: 100, credits_per_1k_input_tokens: 7_000, credits_per_1k_reasoning_tokens: 9_000 },
    };
    const held = (inputTokens: number) =>
      heldCredits(pricing, { inputTokens, outputTokens: 10, likelyInputTokens: 0, apartTokens: 0 });
    expect(held(100)).toBe(100 * 2 + 10 * 5);
    expect(held(101)).toBe(101 * 7 + 10 * 9);
  });

  it('says which credits each class of tokens cost, adding up to the charge', () => {
    const pricing: Pricing = {
      unit: 'tokens',
      credits_per_request: 1,
      min_credits_per_request: 1,
      credits_per_1k_input_tokens: 1_000,
      credits_per_1k_cached_input_tokens: 100,
      credits_per_1k_cache_write_tokens: 1_250,
      credits_per_1k_cache_write_1h_tokens: 2_000,
      credits_per_1k_output_tokens: 5_000,
      credits_per_1k_reasoning_tokens: 3_000,
    };
    const usage = { input: 1_000, output: 100, cached: 600, cacheWrite: 300, cacheWrite1h: 100, reasoning: 40 };
    const whole = { input: 100, cached_input: 60, cache_write: 250 + 200, output: 300, reasoning: 120 };
    expect(costDetails(pricing, usage, 1_030)).toEqual(whole);
    expect(costDetails(pricing, usage, 1_100)).toEqual({ ...whole, minimum: 70 });
    expect(costDetails(pricing, usage, 103)).toEqual({
      input: 10,
      cached_input: 6,
      cache_write: 45,
      output: 30,
      reasoning: 12,
    });
    const fractions = { input: 0, cached_input: 1, cache_write: 0, output: 0, reasoning: 0 };
    expect(costDetails(pricing, { input: 3, output: 0, cached: 3 }, 1)).toEqual(fractions);
    expect(costDetails(pricing, { input: 0, output: 0 }, 0)).toEqual({ ...fractions, cached_input: 0 });
  });

  it('is that of plain input where a provider reports no class, and never counts a token twice', () => {
    const hold = chatHold(request({ prompt: 10, maxTokens: 100 } as Case), 0);
    const usageOf = (usage: ChatUsage) =>
      settledUsage({ ...reply({ content: 'a', isBroken: false } as Case), usage }, hold);
    expect(usageOf({ inputTokens: 90, outputTokens: 9 })).toEqual({
      input: 90,
      output: 9,
      estimated: false,
      empty: false,
    });
    const beyond = { cachedTokens: 60, cacheWriteTokens: 60, cacheWrite1hTokens: 60, reasoningTokens: 60 };
    const parts = { cached: 60, cacheWrite: 30, cacheWrite1h: 30, reasoning: 9 };
    expect(usageOf({ inputTokens: 90, outputTokens: 9, ...beyond })).toMatchObject({ input: 90, output: 9, ...parts });
    const none = { cached: 0, cacheWrite: 0, cacheWrite1h: 0, reasoning: 0, estimated: true };
    expect(usageOf({ inputTokens: null, outputTokens: null, ...beyond })).toMatchObject(none);
  });
});
