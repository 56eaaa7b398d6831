import type { JsonObject } from '../json.ts';
import type { CostRule, TokenRates, UpstreamCost } from './cost-schema.ts';
import { meets } from './request-condition.ts';
import { computedOnce } from '../computed-once.ts';
import { everyPrice, tokenClasses, tokensByClass, type TokenClass, type TokenUsage } from './token-classes.ts';

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
export const everyRate = computedOnce((rates: TokenRates): Record<TokenClass, number> => everyPrice(rates));

/**
 * What one chat answer costs the operator, in micro-USD, rounded up once. The rates with the highest `above_input_tokens` below
 * the input count for all tokens of the request, as the providers have it. Parts beyond their whole are ignored.
 */
export function chatCost(cost: UpstreamCost, usage: TokenUsage): number {
  const rates = ratesFor(cost, usage.input);
  if (rates === undefined) throw new Error('The model has no prices for its tokens.');
  const [tokens, rate] = [tokensByClass(usage), everyRate(rates)];
  const millionths = tokenClasses.reduce((sum, each) => sum + tokens[each] * BigInt(rate[each]), 0n);
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
