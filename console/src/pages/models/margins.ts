import { useQuery } from '@tanstack/react-query';
import { smallestShare } from '../../../../src/domain/catalog/smallest-share.ts';
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
export const worstShare = (margins: readonly Margin[] | undefined): number | null =>
  smallestShare(
    (margins ?? []).map(({ request, price_micro_usd: price, margin_micro_usd: margin }) => ({
      request,
      price,
      margin,
    })),
  );
