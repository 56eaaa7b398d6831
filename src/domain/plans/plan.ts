import type { Pricing, TokenPrices } from '../catalog/price-schema.ts';

/** A named list of rules that change the prices of the catalog for the projects that have it (rules "Plans"). */
export interface Plan {
  planId: string;
  name: string;
  /** Counts the changes of the rules, so that what was computed from earlier rules is known to be old. */
  revision: number;
  rules: readonly PlanRule[];
}

/** The prices of the models that `models` names. Of the rules of a plan, the first that names a model decides about it. */
export type PlanRule = MultiplierRule | PricesRule;

interface MultiplierRule {
  models: string;
  /** Every price is multiplied by this number and rounded up. */
  multiplier: number;
}

interface PricesRule {
  models: string;
  prices: PlanPrices;
}

/**
 * Fixed prices in credits. A member that is absent leaves the price of the catalog. Where long inputs begin, only the catalog says: a model
 * without prices for them has none under a plan.
 */
export type PlanPrices = Partial<Omit<Pricing, 'unit' | 'long_input'>> & { long_input?: Partial<TokenPrices> };

export const multiplierMax = 1_000;
/** Digits behind the point that a multiplier may have. */
export const multiplierDecimals = 6;
