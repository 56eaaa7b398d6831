import { z } from 'zod';
import { issueWords } from '../issue-words.ts';
import { partialClasses, type PartialClass } from './token-classes.ts';

/**
 * `cost` of a mapping: one rule or a list of rules for images and videos, `per_million` with one price list or several for chats.
 * Single rules and lists become lists.
 */
export const Cost = z.unknown().transform((value, context): UpstreamCost => {
  const isByTokens = typeof value === 'object' && value !== null && 'per_million' in value;
  const read = (isByTokens ? ByTokens : Rules).safeParse(isByTokens ? value : [value].flat(), { error: issueWords });
  if (read.success) return read.data;
  for (const { path, message } of read.error.issues)
    context.issues.push({ code: 'custom', path, message, input: value });
  return z.NEVER;
});

/** Micro-USD. Far above any real price, and small enough that a product with a count is exact. */
const amount = z.int().min(0).max(1_000_000_000);
const tokens = z.int().min(1).max(100_000_000);
const scalar = z.union([z.string(), z.number(), z.boolean()]);

/** The price of one media job at a provider. Exactly one of the three prices is given. */
const Rule = z
  .strictObject({
    /** The requests that the rule is for. Absent: all. */
    when: z.record(z.string().min(1).max(64), z.union([scalar, z.array(scalar).min(1).max(1_000)])).optional(),
    per_request: amount.optional(),
    /** For each second of the resolved `duration`. */
    per_second: amount.optional(),
    /** For each image of the resolved `n`, or for the one image of a model without `n`. */
    per_image: amount.optional(),
  })
  .refine(
    ({ per_request, per_second, per_image }) =>
      [per_request, per_second, per_image].filter((price) => price !== undefined).length === 1,
    'must have exactly one of per_request, per_second and per_image',
  );
const Rules = z.array(Rule).min(1).max(1_000);

/** Prices of a provider in micro-USD per million tokens. */
const Rates = z.strictObject({
  /** These prices are for the requests whose input has more tokens than this. Absent: for all requests. */
  above_input_tokens: tokens.optional(),
  input: amount,
  output: amount,
  /** Absent: as their plain class. */
  ...(Object.fromEntries(partialClasses.map((tokens) => [tokens, amount.optional()])) as Record<
    PartialClass,
    z.ZodOptional<typeof amount>
  >),
});
const ByTokens = z.strictObject({
  per_million: z
    .preprocess((value) => [value].flat(), z.array(Rates).min(1).max(10))
    .refine(
      (tiers) => tiers.every(({ above_input_tokens: above }, index) => (index === 0) === (above === undefined)),
      'must begin with the prices for all requests, and every further list needs above_input_tokens',
    )
    .refine(
      (tiers) =>
        tiers.every((tier, index) => (tier.above_input_tokens ?? 0) > (tiers[index - 1]?.above_input_tokens ?? -1)),
      'must be in ascending order of above_input_tokens',
    ),
});

/** A cost as the catalog has it once it was read. */
export const ReadCost = z.union([Rules, z.strictObject({ per_million: z.array(Rates) })]);

export type CostRule = z.output<typeof Rule>;
export type TokenRates = z.output<typeof Rates>;

/** What a family charges for a model: for images and videos the first rule that matches, for chats by tokens. */
export type UpstreamCost = z.output<typeof ReadCost>;
