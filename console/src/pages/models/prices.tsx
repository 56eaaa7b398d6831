import type { CatalogEntry } from '../../api/admin-types.ts';
import { credits, creditsCell } from '../../ui/format.ts';
import { tokenPriceTexts } from '../../../../src/domain/catalog/price-text.ts';

/** What clients pay for a model: every class and tier of tokens that has a price, and what that is worth. */
export function Prices({ of: { pricing, parameters } }: { of: Pick<CatalogEntry, 'pricing' | 'parameters'> }) {
  return priceLines({ pricing, parameters }).map((line) => <div key={line}>{line}</div>);
}

/** The same as lines of text. */
export function priceLines({ pricing, parameters }: Pick<CatalogEntry, 'pricing' | 'parameters'>): string[] {
  if (pricing.unit === 'tokens') {
    const [usual = '', ...longInputs] = tokenPriceTexts(pricing, creditsCell);
    return [`Per 1,000 tokens: ${usual}`, ...longInputs.map((line) => `Per 1,000 tokens ${line}`)];
  }
  const prices = parameters.pricingRules?.map(({ credits: price }) => price) ?? [pricing.credits_per_request];
  const [low, high] = [Math.min(...prices), Math.max(...prices)];
  return [low === high ? credits(low) : `${creditsCell(low)} to ${credits(high)}`];
}
