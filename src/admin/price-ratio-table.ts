import type { CatalogEntry } from '../domain/catalog/catalog.ts';
import { isOffered } from '../domain/catalog/model-list.ts';
import { priceRatios, type PriceRatios } from '../domain/catalog/price-ratios.ts';
import { table } from './plain-text.ts';

/** What each model on offer is sold for, as a multiple of what it costs at its dearest family. */
export const priceRatioTable = (entries: readonly CatalogEntry[], creditValue: number): string =>
  table(
    entries
      .filter(isOffered)
      .flatMap((entry) => priceRatios(entry, creditValue).map((ratios) => ratioLine(entry.model.id, ratios))),
    'No model is on offer.',
  );

const ratioLine = (model: string, ratios: PriceRatios) => ({
  price_of_cost: model,
  input_above: ratios.kind === 'chat' ? ratios.above : null,
  ...(ratios.kind === 'chat'
    ? {
        input: times(ratios.input),
        cached_input: times(ratios.cached_input),
        cache_write: times(ratios.cache_write),
        output: times(ratios.output),
        request: null,
      }
    : {
        input: null,
        cached_input: null,
        cache_write: null,
        output: null,
        request: [...new Set([times(ratios.lowest), times(ratios.highest)])].join(' to '),
      }),
});

const times = (ratio: number | null): string => (ratio === null ? 'free' : ratio.toFixed(2));
