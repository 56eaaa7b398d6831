import type { Model } from '../catalog/catalog.ts';
import type { Pricing, PricingRule } from '../catalog/price-schema.ts';
import type { ParameterValue } from '../catalog/parameter-value.ts';
import { meets } from '../catalog/request-condition.ts';
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

export interface TokenUsage {
  /** Tokens. */
  input: number;
  /** Tokens. */
  output: number;
}

/**
 * Credits for one chat answer: `max(min, ceil((in × in_rate + out × out_rate) / 1000))`, rounded once, at the end
 * (rules "Catalog"). A negative count is zero (rules "Chat"). A count that is not a safe integer throws.
 */
export function chatCredits(
  pricing: Pick<Pricing, 'credits_per_1k_input_tokens' | 'credits_per_1k_output_tokens' | 'min_credits_per_request'>,
  usage: TokenUsage,
): number {
  const milliCredits =
    tokenCount(usage.input) * BigInt(pricing.credits_per_1k_input_tokens) +
    tokenCount(usage.output) * BigInt(pricing.credits_per_1k_output_tokens);
  const credits = Number((milliCredits + 999n) / 1000n);
  return asPrice('the answer', Math.max(pricing.min_credits_per_request, credits));
}

// `BigInt` throws on a fraction. Beyond the safe range the count itself would not be exact.
function tokenCount(tokens: number): bigint {
  if (!Number.isSafeInteger(tokens)) throw new RangeError(`A token count must be a safe integer, not ${tokens}.`);
  return tokens < 0 ? 0n : BigInt(tokens);
}

function asPrice(what: string, credits: number): number {
  if (!Number.isSafeInteger(credits) || credits < 1) throw new Error(`Bad price for ${what}: ${credits}.`);
  return credits;
}
