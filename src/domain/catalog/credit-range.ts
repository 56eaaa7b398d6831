import type { Model } from './catalog.ts';

/** The prices of the cheapest and of the dearest request for media, in credits; null for a chat, which has a price for each class of tokens. */
export function creditRange({
  pricing,
  parameters,
}: Pick<Model, 'pricing' | 'parameters'>): { lowest: number; highest: number } | null {
  if (pricing.unit === 'tokens') return null;
  const prices = parameters.pricingRules?.map(({ credits }) => credits) ?? [pricing.credits_per_request];
  return { lowest: Math.min(...prices), highest: Math.max(...prices) };
}
