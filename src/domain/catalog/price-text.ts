import { priceMemberOf, type TieredPrices } from './token-prices.ts';
import { tokenClasses, tokenClassTable } from './token-classes.ts';
import type { LongInputPrices, TokenPrices } from './price-schema.ts';

/** The prices of 1,000 tokens that are set, one text for each tier: the usual one, and that of long inputs. */
export const tokenPriceTexts = (pricing: TieredPrices, shown: (credits: number) => string): string[] => [
  tierText(pricing, shown),
  ...(pricing.long_input === undefined ? [] : [longInputText(pricing.long_input, shown)]),
];

const longInputText = (prices: LongInputPrices, shown: (credits: number) => string): string =>
  `above ${prices.above_tokens.toLocaleString('en')} tokens of input: ${tierText(prices, shown)}`;

/** The prices of one tier that are set, in words: `2500 in, 250 cached, 10000 out`. */
export const tierText = (prices: Partial<TokenPrices>, shown: (credits: number) => string): string =>
  tokenClasses
    .flatMap((tokens) => {
      const credits = prices[priceMemberOf(tokens)];
      return credits === undefined ? [] : [`${shown(credits)} ${tokenClassTable[tokens].words}`];
    })
    .join(', ');
