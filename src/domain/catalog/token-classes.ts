/**
 * The classes of tokens, as costs name them, in the order in which they are shown, each with its plain class: the one whose price it has where
 * it has none of its own.
 */
export const plainClasses = {
  input: null,
  cached_input: 'input',
  cache_write: 'input',
  cache_write_1h: 'cache_write',
  output: null,
  reasoning: 'output',
} as const;
export type TokenClass = keyof typeof plainClasses;
export const tokenClasses = Object.keys(plainClasses) as TokenClass[];

/** The tokens of one chat answer. A part beyond its whole is ignored, and one that is absent has no tokens. */
export interface TokenUsage {
  /** The whole input, with the cached part and the part that was written to the cache. */
  input: number;
  /** The whole output, hidden reasoning included. */
  output: number;
  /** Input that the provider read from its cache. */
  cached?: number;
  /** All input that was written to the cache. */
  cacheWrite?: number;
  /** The part of it that is kept for an hour. */
  cacheWrite1h?: number;
  /** Output that is hidden reasoning. */
  reasoning?: number;
}

/**
 * The tokens of each class. Cached input comes first, then what was written to the cache, so that each token has one class. A negative count is
 * zero (rules "Chat"). Throws for a count that is not a safe integer.
 */
export function tokensByClass(usage: TokenUsage): Record<TokenClass, bigint> {
  const input = exactTokens(usage.input);
  const output = exactTokens(usage.output);
  const cached = within(usage.cached, input);
  const written = within(usage.cacheWrite, input - cached);
  const kept = within(usage.cacheWrite1h, written);
  const reasoning = within(usage.reasoning, output);
  return {
    input: input - cached - written,
    cached_input: cached,
    cache_write: written - kept,
    cache_write_1h: kept,
    output: output - reasoning,
    reasoning,
  };
}

/** The price of each class: its own in the first of these lists that has one for it or for a plain class of it. */
export const everyPrice = (
  ...lists: readonly Readonly<Partial<Record<TokenClass, number | undefined>>>[]
): Record<TokenClass, number> =>
  Object.fromEntries(
    tokenClasses.map((tokens) => {
      const [price] = lists.flatMap((list) => priceIn(list, tokens) ?? []);
      return [tokens, price ?? 0];
    }),
  ) as Record<TokenClass, number>;

function priceIn(
  list: Readonly<Partial<Record<TokenClass, number | undefined>>>,
  tokens: TokenClass,
): number | undefined {
  const plain = plainClasses[tokens];
  return list[tokens] ?? (plain === null ? undefined : priceIn(list, plain));
}

function within(part: number | undefined, whole: bigint): bigint {
  const tokens = exactTokens(part ?? 0);
  return tokens < whole ? tokens : whole;
}

/** A count of tokens that can be multiplied exactly. A negative one is zero (rules "Chat"). Throws for a count that is not a safe integer. */
export function exactTokens(tokens: number): bigint {
  if (!Number.isSafeInteger(tokens)) throw new RangeError(`A token count must be a safe integer, not ${tokens}.`);
  return tokens < 0 ? 0n : BigInt(tokens);
}
