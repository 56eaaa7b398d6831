import type { CatalogEntry, Model } from '../catalog/catalog.ts';
import { priceMax, type Pricing } from '../catalog/price-schema.ts';
import { namesModel } from './model-pattern.ts';
import { multiplierDecimals, type PlanPrices, type PlanRule } from './plan.ts';

/** The rule that decides about a model: the first that names it. Undefined: the model has the prices of the catalog. */
export const planRuleOf = (rules: readonly PlanRule[], model: Model): PlanRule | undefined =>
  rules.find(({ models }) => namesModel(models, model));

/**
 * The entry with the prices of a plan: what its clients see listed, and what is quoted, held and charged. Without a rule for it, it is the
 * entry itself. A price is multiplied exactly and rounded up, once, here, so that the listed price is the one that is charged.
 */
export function entryUnderPlan(entry: CatalogEntry, rules: readonly PlanRule[]): CatalogEntry {
  const rule = planRuleOf(rules, entry.model);
  if (rule === undefined) return entry;
  const price =
    'multiplier' in rule ? multipliedModel(entry.model, rule.multiplier) : fixedModel(entry.model, rule.prices);
  return { ...entry, model: { ...entry.model, ...price } };
}

/** A catalog under a plan, in its own order. */
export const entriesUnderPlan = (entries: readonly CatalogEntry[], rules: readonly PlanRule[]): CatalogEntry[] =>
  entries.map((entry) => entryUnderPlan(entry, rules));

type Prices = Pick<Model, 'pricing' | 'parameters'>;

function multipliedModel({ pricing, parameters }: Model, multiplier: number): Prices {
  const multiply = (price: number): number => multipliedPrice(price, multiplier);
  const { pricingRules: rules } = parameters;
  return {
    pricing: multipliedPrices(pricing, multiply),
    parameters:
      rules === undefined
        ? parameters
        : { ...parameters, pricingRules: rules.map((rule) => ({ ...rule, credits: multiply(rule.credits) })) },
  };
}

/** Every price of an object, at any depth: whatever prices a model has or will have, they are its members that begin with these words. */
function multipliedPrices<Priced extends object>(prices: Priced, multiply: (price: number) => number): Priced {
  const members = Object.entries(prices).map(([name, value]: [string, unknown]) => {
    if (typeof value === 'object' && value !== null) return [name, multipliedPrices(value, multiply)];
    return [name, typeof value === 'number' && isPriceMember(name) ? multiply(value) : value];
  });
  return Object.fromEntries(members) as Priced;
}

const isPriceMember = (name: string): boolean => /^(min_)?credits_per_/.test(name);

/** A price times a decimal multiplier, rounded up. Whole numbers, because floats would round a price up that is exact. */
export function multipliedPrice(price: number, multiplier: number): number {
  const scaled = BigInt(multiplier.toFixed(multiplierDecimals).replace('.', ''));
  const scale = 10n ** BigInt(multiplierDecimals);
  return Number((BigInt(price) * scaled + scale - 1n) / scale);
}

/** The members of fixed prices that decide what a model of this unit costs. */
export const pricesOfUnit = (unit: Pricing['unit'], prices: PlanPrices): PlanPrices =>
  Object.fromEntries(
    Object.entries(prices).filter(([name]) => (unit === 'request') === (name === 'credits_per_request')),
  );

/** Fixed prices. One for each request is the price of every request of an image or video model, whatever its parameters. */
function fixedModel({ pricing, parameters }: Model, prices: PlanPrices): Prices {
  const { long_input: long, ...own } = pricesOfUnit(pricing.unit, prices);
  if (pricing.unit === 'tokens') {
    const tier = pricing.long_input && long && { long_input: { ...pricing.long_input, ...long } };
    return { pricing: { ...pricing, ...own, ...tier }, parameters };
  }
  const { credits_per_request: credits } = own;
  if (credits === undefined) return { pricing, parameters };
  const { pricingRules: rules } = parameters;
  return {
    pricing: { ...pricing, credits_per_request: credits, min_credits_per_request: credits },
    parameters:
      rules === undefined ? parameters : { ...parameters, pricingRules: rules.map((rule) => ({ ...rule, credits })) },
  };
}

/** The models whose price is above `priceMax` under the rules, with the largest one. */
export function pricesAboveMax(
  entries: readonly CatalogEntry[],
  rules: readonly PlanRule[],
): { model: string; price: number }[] {
  return entries.flatMap((entry) => {
    const { model } = entryUnderPlan(entry, rules);
    const price = Math.max(...listPrices(model));
    return price > priceMax ? [{ model: model.id, price }] : [];
  });
}

/** Every price of a model, in credits. */
function listPrices({ pricing, parameters }: Model): number[] {
  const found: number[] = (parameters.pricingRules ?? []).map(({ credits }) => credits);
  multipliedPrices(pricing, (price) => {
    found.push(price);
    return price;
  });
  return found;
}
