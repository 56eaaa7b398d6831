import type { Model } from '../catalog/catalog.ts';
import type { Pricing, PricingRule } from '../catalog/price-schema.ts';
import type { ParameterValue } from '../catalog/parameter-value.ts';
import { meets } from '../catalog/request-condition.ts';
import {
  exactTokens,
  shownClass,
  shownClasses,
  tokenClasses,
  tokensByClass,
  type ShownClass,
  type TokenUsage,
} from '../catalog/token-classes.ts';
import { classPrices, dearestPrices, priceMemberOf, type TieredPrices } from '../catalog/token-prices.ts';
import type { JsonObject } from '../json.ts';

/**
 * Credits for one media request: the price of the rule that matches the resolved parameters, or the flat price of a model
 * without rules (spec §2.3, rules "Catalog"). `input` is the result of `resolveMediaRequest`, defaults included. Throws a plain
 * error if no rule matches: the catalog loader excludes this, and a guessed price could be a loss.
 */
export function mediaCredits(model: Model, input: JsonObject): number {
  const rules = model.parameters.pricingRules ?? [];
  if (rules.length === 0) return asPrice(model.id, model.pricing.credits_per_request);
  const rule = decidingRule(rules, input);
  if (rule === undefined) throw new Error(`No pricing rule of ${model.id} matches the resolved parameters.`);
  return asPrice(model.id, rule.credits);
}

/**
 * The rule that prices a request: of those whose conditions it meets, one with the most conditions. Of several with equally many, the dearest, so
 * that the order of the rules does not matter and none is sold below its cost.
 */
export function decidingRule(rules: readonly PricingRule[], input: JsonObject): PricingRule | undefined {
  const [decisive] = rules
    .filter(({ match }) => conditionsOf(match).every(({ key, value }) => meets({ [key]: value }, input)))
    .sort(
      (one, other) => conditionsOf(other.match).length - conditionsOf(one.match).length || other.credits - one.credits,
    );
  return decisive;
}

/** Every condition of a rule, the first one included. */
export const conditionsOf = ({
  key,
  value,
  all = [],
}: PricingRule['match']): { key: string; value: ParameterValue }[] => [{ key, value }, ...all];

/** The prices of a chat. */
export type ChatPricing = TieredPrices & Pick<Pricing, 'min_credits_per_request'>;

/**
 * Credits for one chat answer: `max(min, ceil(sum of tokens × price of their class / 1000))`, rounded once, at the end (rules "Catalog"). The prices
 * are those of inputs as long as this one. A negative count is zero (rules "Chat"). A count that is not a safe integer throws.
 */
export function chatCredits(pricing: ChatPricing, usage: TokenUsage): number {
  const milliCredits = milliCreditsByClass(pricing, usage).reduce((sum, [, each]) => sum + each, 0n);
  return asPrice('the answer', Math.max(pricing.min_credits_per_request, roundedUp(milliCredits)));
}

/** Credits for the dearest answer with at most this many tokens, whatever their classes and whichever prices its input has. */
export function dearestCredits(pricing: ChatPricing, { input, output }: { input: number; output: number }): number {
  const dearest = dearestPrices(pricing, input);
  const milliCredits = exactTokens(input) * BigInt(dearest.input) + exactTokens(output) * BigInt(dearest.output);
  return asPrice('the answer', Math.max(pricing.min_credits_per_request, roundedUp(milliCredits)));
}

/** What the credits of one chat answer are for, in whole credits. */
export interface CostDetails extends Record<ShownClass, number> {
  /** What the minimum of a request adds. Absent if it adds nothing. */
  minimum?: number;
}

/**
 * Divides the credits that an answer is charged among the classes of its tokens. The parts add up to `credits`: each is rounded down, and what
 * remains goes to those with the largest remainders. An answer that costs more than its hold has smaller parts in the same proportion.
 */
export function costDetails(pricing: ChatPricing, usage: TokenUsage, credits: number): CostDetails {
  const details = Object.fromEntries(shownClasses.map((part) => [part, 0])) as Record<ShownClass, number>;
  const shares = milliCreditsByClass(pricing, usage);
  const milliCredits = shares.reduce((sum, [, each]) => sum + each, 0n);
  const whole = roundedUp(milliCredits);
  const target = Math.min(whole, credits);
  const [numerator, denominator] = target < whole ? [BigInt(target), milliCredits] : [1n, 1_000n];
  let left = target;
  const remainders = shares.map(([part, milli]) => {
    const share = milli * numerator;
    const rounded = Number(share / denominator);
    details[part] += rounded;
    left -= rounded;
    return { part, remainder: share % denominator };
  });
  if (left > 0) remainders.sort((one, other) => Number(other.remainder - one.remainder));
  for (const { part } of remainders.slice(0, left)) details[part]++;
  return credits > whole ? { ...details, minimum: credits - whole } : details;
}

/** Thousandths of credits of each class that has tokens, by the class as which an answer shows it. */
function milliCreditsByClass(pricing: ChatPricing, usage: TokenUsage): [part: ShownClass, milliCredits: bigint][] {
  const tokens = tokensByClass(usage);
  const price = classPrices(pricing, Math.max(0, usage.input));
  const shares: [ShownClass, bigint][] = [];
  for (const each of tokenClasses) {
    if (tokens[each] === 0n) continue;
    shares.push([shownClass(each), tokens[each] * BigInt(price[priceMemberOf(each)])]);
  }
  return shares;
}

const roundedUp = (milliCredits: bigint): number => Number((milliCredits + 999n) / 1_000n);

function asPrice(what: string, credits: number): number {
  if (!Number.isSafeInteger(credits) || credits < 1) throw new Error(`Bad price for ${what}: ${credits}.`);
  return credits;
}
