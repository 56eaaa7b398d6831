import { z } from 'zod';
import { partialClasses, type PartialClass } from './token-classes.ts';

/** Far above any real price, and small enough that a token count times a rate is an exact integer. */
export const priceMax = 1_000_000_000;
const price = z.int().min(1).max(priceMax);
const rate = z.int().min(0).max(priceMax);
/** No model has a longer context. */
const tokensMax = 100_000_000;

/** Prices of a chat model in credits for 1,000 tokens of each class. A class without a price has that of its plain class. */
const plainPrices = { credits_per_1k_input_tokens: rate, credits_per_1k_output_tokens: rate };
const classPriceFields = Object.fromEntries(
  partialClasses.map((tokens) => [`credits_per_1k_${tokens}_tokens`, rate.optional()]),
) as Record<`credits_per_1k_${PartialClass}_tokens`, z.ZodOptional<typeof rate>>;
const TokenPrices = z.strictObject({ ...plainPrices, ...classPriceFields });
export type TokenPrices = z.output<typeof TokenPrices>;

/** The prices of requests whose input has more tokens than `above_tokens`. */
const LongInputPrices = z
  .strictObject({ above_tokens: z.int().min(1).max(tokensMax) })
  .extend(TokenPrices.partial().shape);
export type LongInputPrices = z.output<typeof LongInputPrices>;

/** `pricing` of a model: the members of the specification (§2.2), and those of a chat model for further classes of tokens. */
export const Pricing = z.strictObject({
  unit: z.enum(['request', 'tokens']),
  credits_per_request: price,
  ...plainPrices,
  min_credits_per_request: price,
  ...classPriceFields,
  /** The prices of requests with a long input. They count for all tokens of such a request. */
  long_input: LongInputPrices.optional(),
});
export type Pricing = z.output<typeof Pricing>;

/** The price of the media requests that meet all of its conditions (spec §2.3). Of the rules that match, one with the most conditions decides. */
export const PricingRule = z.strictObject({
  match: z.strictObject({
    key: z.enum(['img_size', 'duration']),
    value: z.union([z.string().min(1).max(200), z.int()]),
    /** Further conditions: parameters with a value, and inputs with true (given) or false (not given). */
    all: z
      .array(z.strictObject({ key: z.string().min(1).max(64), value: z.union([z.string(), z.number(), z.boolean()]) }))
      .min(1)
      .max(10)
      .optional(),
  }),
  credits: price,
});
export type PricingRule = z.output<typeof PricingRule>;
