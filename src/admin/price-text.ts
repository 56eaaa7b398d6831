import type { Model } from '../domain/catalog/catalog.ts';

/** The prices of a model in one line for people: in credits, or as `shown` shows those. */
export function priceText(
  { pricing, parameters }: Pick<Model, 'pricing' | 'parameters'>,
  shown: (credits: number) => string = String,
): string {
  if (pricing.unit === 'tokens') {
    return `${shown(pricing.credits_per_1k_input_tokens)} in, ${shown(pricing.credits_per_1k_output_tokens)} out per 1k`;
  }
  const prices = parameters.pricingRules?.map(({ credits }) => credits) ?? [pricing.credits_per_request];
  const [low, high] = [Math.min(...prices), Math.max(...prices)];
  return low === high ? shown(low) : `${shown(low)} to ${shown(high)}`;
}
