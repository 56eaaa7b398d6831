import { z } from 'zod';

/** The tokens of chats by the classes that have a price of their own. Each is a part of the input or of the output. */
export const tokenParts = {
  cached_input_tokens: z.int().describe('The part of the input that the provider read from its cache.'),
  cache_write_tokens: z.int().describe('The part of the input that the provider wrote to its cache.'),
  cache_write_1h_tokens: z.int().describe('The part of what was written that the cache keeps for an hour.'),
  reasoning_tokens: z.int().describe('The part of the output that is hidden reasoning.'),
};

/** The same where there may be none: for what was not charged by tokens, and for what an earlier release ended. */
export const nullableTokenParts = {
  cached_input_tokens: tokenParts.cached_input_tokens.nullable(),
  cache_write_tokens: tokenParts.cache_write_tokens.nullable(),
  cache_write_1h_tokens: tokenParts.cache_write_1h_tokens.nullable(),
  reasoning_tokens: tokenParts.reasoning_tokens.nullable(),
};
