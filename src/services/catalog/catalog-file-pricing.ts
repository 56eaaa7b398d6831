import { z } from 'zod';

/** Far above any real price, and small enough that a token count times a rate is an exact integer. */
const priceMax = 1_000_000_000;
const price = z.int().min(1).max(priceMax);
const rate = z.int().min(0).max(priceMax);
/** No model has a longer context. */
const tokensMax = 100_000_000;

/** The prices of the classes of tokens that an entry may leave out. */
const classRates = {
  credits_per_1k_cached_input_tokens: rate.optional(),
  credits_per_1k_cache_write_tokens: rate.optional(),
  credits_per_1k_cache_write_1h_tokens: rate.optional(),
  credits_per_1k_reasoning_tokens: rate.optional(),
};

/** `pricing` of a model: the members of the specification (§2.2), and those of a chat model for further classes of tokens. */
export const FilePricing = z.strictObject({
  unit: z.enum(['request', 'tokens']),
  credits_per_request: price,
  credits_per_1k_input_tokens: rate,
  credits_per_1k_output_tokens: rate,
  min_credits_per_request: price,
  ...classRates,
  long_input: z
    .strictObject({
      above_tokens: z.int().min(1).max(tokensMax),
      credits_per_1k_input_tokens: rate.optional(),
      credits_per_1k_output_tokens: rate.optional(),
      ...classRates,
    })
    .optional(),
});

/** `pricingRules` of an image or video model (spec §2.3). `all` has conditions beside the first one. */
export const FilePricingRules = z.array(
  z.strictObject({
    match: z.strictObject({
      key: z.enum(['img_size', 'duration']),
      value: z.union([z.string().min(1).max(200), z.int()]),
      all: z
        .array(
          z.strictObject({ key: z.string().min(1).max(64), value: z.union([z.string(), z.number(), z.boolean()]) }),
        )
        .min(1)
        .max(10)
        .optional(),
    }),
    credits: price,
  }),
);
