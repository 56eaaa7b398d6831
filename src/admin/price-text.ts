import type { Model } from '../domain/catalog/catalog.ts';
import { creditRange } from '../domain/catalog/credit-range.ts';
import { tokenPriceTexts } from '../domain/catalog/price-text.ts';

/** The prices of a model in one line for people, of every class that has one: in credits as `shown` shows them. */
export function priceText(
  { pricing, parameters }: Pick<Model, 'pricing' | 'parameters'>,
  shown: (credits: number) => string,
): string {
  if (pricing.unit === 'tokens') {
    const [usual = '', ...longInputs] = tokenPriceTexts(pricing, shown);
    return [`${usual} per 1k`, ...longInputs].join('; ');
  }
  const { lowest, highest } = creditRange({ pricing, parameters }) ?? { lowest: 0, highest: 0 };
  return lowest === highest ? shown(lowest) : `${shown(lowest)} to ${shown(highest)}`;
}
