import type { CatalogEntry, ModelRow } from '../../api/admin-types.ts';
import { credits, creditsCell } from '../../ui/format.ts';
import { creditRange } from '../../../../src/domain/catalog/credit-range.ts';
import { tierText, tokenPriceTexts } from '../../../../src/domain/catalog/price-text.ts';
import type { PlanPrices } from '../../../../src/domain/plans/plan.ts';

/** Prices by tokens, or the range of the prices of a request. */
export interface Priced {
  pricing: CatalogEntry['pricing'];
  range: { lowest: number; highest: number } | null;
}

const pricedOf = ({ pricing, parameters }: Pick<CatalogEntry, 'pricing' | 'parameters'>): Priced => ({
  pricing,
  range: creditRange({ pricing, parameters } as Parameters<typeof creditRange>[0]),
});

export const pricedOfRow = ({ pricing, lowest_credits: lowest, highest_credits: highest }: ModelRow): Priced => ({
  pricing,
  range: lowest === null || highest === null ? null : { lowest, highest },
});

/** What clients pay for a model: every class and tier of tokens that has a price, and what that is worth. */
export function Prices({ of }: { of: Pick<CatalogEntry, 'pricing' | 'parameters'> }) {
  return priceLines(pricedOf(of)).map((line) => <div key={line}>{line}</div>);
}

/** The prices that a rule of a plan sets. */
export function planPriceText(prices: PlanPrices): string {
  const { credits_per_request: request, min_credits_per_request: least, long_input: longInput } = prices;
  const [usual, long] = [prices, longInput ?? {}].map((tier) => tierText(tier, creditsCell));
  return [
    request !== undefined && `${creditsCell(request)} per request`,
    usual && `${usual} per 1,000 tokens`,
    long && `for long input ${long} per 1,000 tokens`,
    least !== undefined && `at least ${creditsCell(least)} per request`,
  ]
    .filter(Boolean)
    .join('; ');
}

/** The same as lines of text. */
function priceLines({ pricing, range }: Priced): string[] {
  if (pricing.unit === 'tokens') {
    const [usual = '', ...longInputs] = tokenPriceTexts(pricing, creditsCell);
    return [`Per 1,000 tokens: ${usual}`, ...longInputs.map((line) => `Per 1,000 tokens ${line}`)];
  }
  if (range === null) return [];
  const { lowest, highest } = range;
  return [lowest === highest ? credits(lowest) : `${creditsCell(lowest)} to ${credits(highest)}`];
}

/** What clients pay, in short, with all of it on hover. */
export const ShortPrice = ({ of }: { of: Priced }) => <span title={priceLines(of).join('\n')}>{shortPrice(of)}</span>;

function shortPrice({ pricing, range }: Priced): string {
  if (pricing.unit === 'tokens') {
    const { credits_per_1k_cached_input_tokens: cached } = pricing;
    const ofCached = cached === undefined ? '' : `, ${creditsCell(cached)} cached`;
    return `${creditsCell(pricing.credits_per_1k_input_tokens)} in${ofCached}, ${creditsCell(pricing.credits_per_1k_output_tokens)} out per 1,000 tokens`;
  }
  if (range === null) return '';
  const { lowest, highest } = range;
  return lowest === highest ? creditsCell(lowest) : `${creditsCell(lowest)} to ${creditsCell(highest)}`;
}
