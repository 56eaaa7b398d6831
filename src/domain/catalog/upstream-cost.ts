import type { JsonObject } from '../json.ts';
import type { CostRule, TokenRates, UpstreamCost } from './cost-schema.ts';
import { meets } from './request-condition.ts';

/**
 * What one media job costs the operator, in micro-USD: the first rule that matches the resolved request decides. Throws a plain
 * error if no rule matches: the catalog loader excludes this, and a guess would make every summary wrong.
 */
export function mediaCost(cost: UpstreamCost, input: JsonObject): number {
  const rule = costRules(cost).find(({ when }) => meets(when, input));
  if (rule === undefined) throw new Error('No cost rule matches the resolved parameters.');
  const { per_request: perRequest, per_second: perSecond, per_image: perImage } = rule;
  if (perSecond !== undefined) return exact(BigInt(perSecond) * wholeNumber(input, 'duration'));
  if (perImage !== undefined)
    return exact(BigInt(perImage) * (Object.hasOwn(input, 'n') ? wholeNumber(input, 'n') : 1n));
  if (perRequest === undefined) throw new Error('A cost rule has no price.');
  return perRequest;
}

/** The rules of an image or video model. A chat model has none. */
export const costRules = (cost: UpstreamCost): readonly CostRule[] => (Array.isArray(cost) ? cost : []);

/** The prices of a chat model by tokens. An image or video model has none. */
export const tokenRates = (cost: UpstreamCost): readonly TokenRates[] => (Array.isArray(cost) ? [] : cost.per_million);

/** The prices for a request with this many tokens of input. */
export const ratesFor = (cost: UpstreamCost, inputTokens: number): TokenRates | undefined =>
  tokenRates(cost).findLast(({ above_input_tokens: above = -1 }) => inputTokens > above);

/** The price of each class, in micro-USD per million tokens: that of its plain class where it has none of its own. */
export function everyRate(rates: TokenRates): Required<Omit<TokenRates, 'above_input_tokens'>> {
  const { input, output, cached_input = input, cache_write = input, cache_write_1h = cache_write } = rates;
  return { input, cached_input, cache_write, cache_write_1h, output, reasoning: rates.reasoning ?? output };
}

/** The tokens of one answer as the provider bills them. Every count is a safe integer of at least 0. */
export interface BilledTokens {
  /** The whole input, with the cached part and the part that was written to the cache. */
  input: number;
  /** The whole output, hidden reasoning included. */
  output: number;
  cached: number;
  /** All that was written to the cache. */
  cacheWrite: number;
  /** The part of it that is kept for an hour. */
  cacheWrite1h: number;
  reasoning: number;
}

/**
 * What one chat answer costs the operator, in micro-USD, rounded up once. The rates with the highest `above_input_tokens` below
 * the input count for all tokens of the request, as the providers have it. Parts beyond their whole are ignored.
 */
export function chatCost(cost: UpstreamCost, tokens: BilledTokens): number {
  const rates = ratesFor(cost, tokens.input);
  if (rates === undefined) throw new Error('The model has no prices for its tokens.');
  const cached = Math.min(tokens.cached, tokens.input);
  const written = Math.min(tokens.cacheWrite, tokens.input - cached);
  const kept = Math.min(tokens.cacheWrite1h, written);
  const reasoning = Math.min(tokens.reasoning, tokens.output);
  const rate = everyRate(rates);
  const parts: [tokens: number, rate: number][] = [
    [tokens.input - cached - written, rate.input],
    [cached, rate.cached_input],
    [written - kept, rate.cache_write],
    [kept, rate.cache_write_1h],
    [tokens.output - reasoning, rate.output],
    [reasoning, rate.reasoning],
  ];
  const millionths = parts.reduce((sum, [count, each]) => sum + BigInt(count) * BigInt(each), 0n);
  return exact((millionths + 999_999n) / 1_000_000n);
}

function wholeNumber(input: JsonObject, key: string): bigint {
  const value = Object.hasOwn(input, key) ? input[key] : undefined;
  if (!Number.isSafeInteger(value) || Number(value) < 0) throw new Error(`A cost needs a whole number of ${key}.`);
  return BigInt(Number(value));
}

function exact(microUsd: bigint): number {
  const amount = Number(microUsd);
  if (!Number.isSafeInteger(amount)) throw new Error(`A cost of ${microUsd} micro-USD cannot be stored exactly.`);
  return amount;
}
