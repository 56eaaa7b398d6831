import type { Model } from '../domain/catalog/catalog.ts';
import { tokenPriceTexts } from '../domain/catalog/price-text.ts';

/** The prices of a model in one line for people, of every class that has one: in credits, or as `shown` shows those. */
export function priceText(
  { pricing, parameters }: Pick<Model, 'pricing' | 'parameters'>,
  shown: (credits: number) => string = String,
): string {
  if (pricing.unit === 'tokens') {
    const [usual = '', ...longInputs] = tokenPriceTexts(pricing, shown);
    return [`${usual} per 1k`, ...longInputs].join('; ');
  }
  const prices = parameters.pricingRules?.map(({ credits }) => credits) ?? [pricing.credits_per_request];
  const [low, high] = [Math.min(...prices), Math.max(...prices)];
  return low === high ? shown(low) : `${shown(low)} to ${shown(high)}`;
}
