import type { Margin } from './margins.ts';

/** The smallest of some margins as a share of the price; null if there is none. A chat that pays the minimum says nothing about its tokens. */
export function smallestShare(margins: readonly Pick<Margin, 'request' | 'price' | 'margin'>[]): number | null {
  const shares = margins
    .filter(({ price, request }) => price > 0 && request !== 'minimum')
    .map(({ margin, price }) => margin / price);
  return shares.length === 0 ? null : Math.min(...shares);
}
