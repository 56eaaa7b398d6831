import { describe, expect, it } from '@jest/globals';
import { tokenPriceTexts } from '../../../src/domain/catalog/price-text.ts';

describe('tokenPriceTexts', () => {
  const plain = { credits_per_1k_input_tokens: 2_500, credits_per_1k_output_tokens: 10_000 };

  it('lists the plain classes alone where no other class has a price', () => {
    expect(tokenPriceTexts(plain, String)).toEqual(['2500 in, 10000 out']);
  });

  it('lists every class that has a price, and long inputs in a text of their own', () => {
    const prices = {
      ...plain,
      credits_per_1k_cached_input_tokens: 250,
      credits_per_1k_cache_write_tokens: 3_125,
      credits_per_1k_cache_write_1h_tokens: 5_000,
      credits_per_1k_reasoning_tokens: 0,
      long_input: {
        above_tokens: 200_000,
        credits_per_1k_input_tokens: 5_000,
        credits_per_1k_cached_input_tokens: 500,
      },
    };
    expect(tokenPriceTexts(prices, (credits) => `${credits} cr`)).toEqual([
      '2500 cr in, 250 cr cached, 3125 cr cache write, 5000 cr cache write for an hour, 10000 cr out, 0 cr reasoning',
      'above 200,000 tokens of input: 5000 cr in, 500 cr cached',
    ]);
  });
});
