import type { LongInputPrices, TokenPrices } from './price-schema.ts';

/** The classes of tokens, as costs name them, in the order in which they are shown. The member of a price is `credits_per_1k_<class>_tokens`. */
export const tokenClasses = ['input', 'cached_input', 'cache_write', 'cache_write_1h', 'output', 'reasoning'] as const;
export type TokenClass = (typeof tokenClasses)[number];

/** The members of a price that are for 1,000 tokens. */
export const tokenPriceMembers = tokenClasses.map((tokens) => `credits_per_1k_${tokens}_tokens` as const);

export const outputPriceMembers = ['credits_per_1k_output_tokens', 'credits_per_1k_reasoning_tokens'] as const;
export const inputPriceMembers = tokenPriceMembers.filter(
  (member) => !outputPriceMembers.some((output) => output === member),
);

/** Those of them that only chat models have, and that may be absent. */
export const classPriceMembers = tokenPriceMembers.filter(
  (member) => member !== 'credits_per_1k_input_tokens' && member !== 'credits_per_1k_output_tokens',
);

/** What 1,000 tokens of each class cost one request, in credits. */
export type ClassPrices = Required<TokenPrices>;

/** The token prices of a model, with or without those of long inputs. */
export interface TieredPrices extends TokenPrices {
  long_input?: LongInputPrices;
}

/**
 * The prices of a request with this many tokens of input. Those of a long input count for all of its tokens, as the providers have it. A class that
 * `long_input` lacks has the price of its plain class there; where that one is absent too, the price of shorter inputs.
 */
export function classPrices(pricing: TieredPrices, inputTokens: number): ClassPrices {
  const usual = everyClass(pricing, pricing);
  const { long_input: long } = pricing;
  return long === undefined || inputTokens <= long.above_tokens ? usual : everyClass(long, usual);
}

function everyClass(own: Partial<TokenPrices>, otherwise: TokenPrices): ClassPrices {
  const input = own.credits_per_1k_input_tokens;
  const written = own.credits_per_1k_cache_write_tokens ?? input;
  const output = own.credits_per_1k_output_tokens;
  const plainInput = otherwise.credits_per_1k_input_tokens;
  const plainWritten = otherwise.credits_per_1k_cache_write_tokens ?? plainInput;
  const plainOutput = otherwise.credits_per_1k_output_tokens;
  return {
    credits_per_1k_input_tokens: input ?? plainInput,
    credits_per_1k_cached_input_tokens:
      own.credits_per_1k_cached_input_tokens ?? input ?? otherwise.credits_per_1k_cached_input_tokens ?? plainInput,
    credits_per_1k_cache_write_tokens: written ?? plainWritten,
    credits_per_1k_cache_write_1h_tokens:
      own.credits_per_1k_cache_write_1h_tokens ??
      written ??
      otherwise.credits_per_1k_cache_write_1h_tokens ??
      plainWritten,
    credits_per_1k_output_tokens: output ?? plainOutput,
    credits_per_1k_reasoning_tokens:
      own.credits_per_1k_reasoning_tokens ?? output ?? otherwise.credits_per_1k_reasoning_tokens ?? plainOutput,
  };
}
