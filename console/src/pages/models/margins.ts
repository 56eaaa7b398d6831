import { useQuery } from '@tanstack/react-query';
import { change } from '../../api/admin.ts';
import type { CatalogCheck, CatalogEntry, Margin } from '../../api/admin-types.ts';

export type MarginsByModel = Map<string, Margin[]>;

/** Checks the models as `catalog check` does, without changing anything. */
export const checkModels = (entries: readonly unknown[]): Promise<CatalogCheck> =>
  // JSON is YAML, so the entries need no other form.
  change('post', '/catalog/check', {}, { catalog: JSON.stringify({ models: entries }) });

/** The margins of models as they are in the catalog now. */
export const useMargins = (entries: readonly CatalogEntry[]) =>
  useQuery({
    queryKey: ['margins', entries],
    queryFn: async (): Promise<MarginsByModel> => {
      const { data } = await checkModels(entries);
      return new Map(data.map(({ model, margins }) => [model, margins]));
    },
    enabled: entries.length > 0,
    staleTime: Infinity,
  });

/** The smallest margin as a share of the price; null if nothing is known or the request is free. */
export function worstShare(margins: readonly Margin[] | undefined): number | null {
  const shares = (margins ?? [])
    .filter(({ price_micro_usd: price, request }) => price > 0 && request !== 'minimum')
    .map(({ margin_micro_usd: margin, price_micro_usd: price }) => margin / price);
  return shares.length === 0 ? null : Math.min(...shares);
}

/** What clients pay, in short. */
export function priceOf({ pricing, parameters }: Pick<CatalogEntry, 'pricing' | 'parameters'>): string {
  if (pricing.unit === 'tokens') {
    const { credits_per_1k_cached_input_tokens: cached } = pricing;
    const ofCached = cached === undefined ? '' : `, ${cached} cached`;
    return `${pricing.credits_per_1k_input_tokens} in${ofCached}, ${pricing.credits_per_1k_output_tokens} out per 1,000 tokens`;
  }
  const prices = parameters.pricingRules?.map(({ credits }) => credits) ?? [pricing.credits_per_request];
  const [low, high] = [Math.min(...prices), Math.max(...prices)];
  return low === high ? String(low) : `${low} to ${high}`;
}
