import { conditionsOf, mediaCredits } from '../ledger/pricing.ts';
import type { CatalogEntry } from './catalog.ts';
import { dearestRates, longInputFrom } from './chat-prices.ts';
import { costedRequests } from './media-prices.ts';
import { isOffered } from './model-list.ts';
import { classPrices } from './token-prices.ts';

/** Above so many times its cost a price is probably a mistake. */
export const ratioMax = 5;

/** What a model is sold for, as a multiple of what it costs at its dearest family. Null where it costs nothing. */
export type PriceRatios =
  | { kind: 'chat'; above: number | null; input: Ratio; cached_input: Ratio; cache_write: Ratio; output: Ratio }
  | { kind: 'media'; lowest: Ratio; highest: Ratio };
type Ratio = number | null;

/** The ratios of a chat model for usual and for long inputs, or of the requests of an image or video model, with a credit worth `creditValue` micro-USD. */
export function priceRatios(entry: CatalogEntry, creditValue: number): PriceRatios[] {
  if (entry.model.type !== 'chat') return mediaRatios(entry, creditValue);
  const above = longInputFrom(entry);
  const tiers = [
    { above: null, inputTokens: 0, rates: dearestRates(entry, 'usual') },
    ...(above === undefined ? [] : [{ above, inputTokens: above + 1, rates: dearestRates(entry, 'long') }]),
  ];
  return tiers.map(({ above: limit, inputTokens, rates }): PriceRatios => {
    const prices = classPrices(entry.model.pricing, inputTokens);
    const ratio = (tokens: 'input' | 'cached_input' | 'cache_write' | 'output'): Ratio =>
      ratioOf(prices[`credits_per_1k_${tokens}_tokens`] * creditValue, rates[tokens].cost / 1_000);
    return {
      kind: 'chat',
      above: limit,
      input: ratio('input'),
      cached_input: ratio('cached_input'),
      cache_write: ratio('cache_write'),
      output: ratio('output'),
    };
  });
}

function mediaRatios(entry: CatalogEntry, creditValue: number): PriceRatios[] {
  const rules = entry.model.parameters.pricingRules ?? [];
  const keys = rules.flatMap(({ match }) => conditionsOf(match).map(({ key }) => key));
  const ratios = (costedRequests(entry, keys) ?? [])
    .flatMap(({ request, cost }) => ratioOf(mediaCredits(entry.model, request) * creditValue, cost) ?? [])
    .sort((one, other) => one - other);
  return [{ kind: 'media', lowest: ratios[0] ?? null, highest: ratios.at(-1) ?? null }];
}

const ratioOf = (price: number, cost: number): Ratio => (cost === 0 ? null : price / cost);

/** The prices of a model on offer that are above `ratioMax` times their cost, as sentences. */
export function dearPrices(entry: CatalogEntry, creditValue: number): string[] {
  if (!isOffered(entry)) return [];
  return priceRatios(entry, creditValue).flatMap((ratios) =>
    pricesIn(ratios)
      .filter(({ ratio }) => (ratio ?? 0) > ratioMax)
      .map(({ what, ratio }) => `${entry.model.id}: ${what} is sold for ${(ratio ?? 0).toFixed(1)} times its cost`),
  );
}

function pricesIn(ratios: PriceRatios): { what: string; ratio: Ratio }[] {
  if (ratios.kind === 'media') return [{ what: 'a request', ratio: ratios.highest }];
  const where = ratios.above === null ? '' : ` above ${ratios.above} tokens of input`;
  return (['input', 'cached_input', 'cache_write', 'output'] as const).map((tokens) => ({
    what: `${tokens.replace('_', ' ')}${where}`,
    ratio: ratios[tokens],
  }));
}
