/**
 * The classes of tokens, as costs name them, in the order in which they are shown and in which tokens are divided among them. A further class is
 * a row here, and a count that an adapter reports: costs, prices, charges and texts follow.
 *
 * `plain`: the class whose tokens these are a part of, and whose price they have where they have none of their own. `part`: the name of the part in
 * counts. `words` stand after a price, `label` before one.
 */
export const tokenClassTable = {
  input: { plain: null, words: 'in', label: 'Input' },
  /** Input that the provider read from its cache. */
  cached_input: { plain: 'input', part: 'cached', words: 'cached', label: 'Cached input' },
  /** Input that the provider wrote to its cache. */
  cache_write: { plain: 'input', part: 'cacheWrite', words: 'cache write', label: 'Cache write' },
  /** The part of it that is kept for an hour. An answer shows its cost as that of what is written. */
  cache_write_1h: {
    plain: 'cache_write',
    part: 'cacheWrite1h',
    words: 'cache write for an hour',
    label: 'Cache write for an hour',
    shownAs: 'cache_write',
  },
  output: { plain: null, words: 'out', label: 'Output' },
  /** Output that is hidden reasoning. */
  reasoning: { plain: 'output', part: 'reasoning', words: 'reasoning', label: 'Reasoning' },
} as const satisfies Record<string, TokenClassRow>;
interface TokenClassRow {
  plain: string | null;
  part?: string;
  words: string;
  label: string;
  shownAs?: string;
}
type Table = typeof tokenClassTable;
export type TokenClass = keyof Table;
export const tokenClasses = Object.keys(tokenClassTable) as TokenClass[];

/** The classes that are a part of another one. */
export type PartialClass = { [Class in TokenClass]: Table[Class] extends { part: string } ? Class : never }[TokenClass];
const isPartial = (tokens: TokenClass): tokens is PartialClass => 'part' in tokenClassTable[tokens];
export const partialClasses = tokenClasses.filter(isPartial);

/** The classes by which an answer shows its cost. */
export type ShownClass = {
  [Class in TokenClass]: Table[Class] extends { shownAs: string } ? never : Class;
}[TokenClass];
export const shownClass = (tokens: TokenClass): ShownClass => {
  const row: Table[TokenClass] = tokenClassTable[tokens];
  return 'shownAs' in row ? row.shownAs : (tokens as ShownClass);
};
export const shownClasses = [...new Set(tokenClasses.map(shownClass))];

/** Whether the tokens of a class are output. */
export const isOutputClass = (tokens: TokenClass): boolean => {
  const { plain } = tokenClassTable[tokens];
  return plain === null ? tokens === 'output' : isOutputClass(plain);
};

/** The parts of an answer's tokens that have a class of their own. */
export type TokenPart = Table[PartialClass]['part'];
export const tokenPartNames: readonly TokenPart[] = partialClasses.map((tokens) => tokenClassTable[tokens].part);
export type TokenParts = Partial<Record<TokenPart, number>>;

/** The tokens of one chat answer. A part beyond its whole is ignored, and one that is absent has no tokens. `cacheWrite` has `cacheWrite1h`. */
export interface TokenUsage extends TokenParts {
  /** The whole input, with the cached part and the part that was written to the cache. */
  input: number;
  /** The whole output, hidden reasoning included. */
  output: number;
}

/** Something of each part, by its name. */
export const ofEachPart = <Value>(of: (part: TokenPart) => Value): Record<TokenPart, Value> =>
  Object.fromEntries(tokenPartNames.map((part) => [part, of(part)])) as Record<TokenPart, Value>;

/** The parts, each cut at what earlier parts of the same whole leave, so that each token is in one of them. A negative count is zero. */
export function partsWithin(
  wholes: Pick<TokenUsage, 'input' | 'output'>,
  counts: Readonly<Partial<Record<TokenPart, number | null | undefined>>>,
): Record<TokenPart, number> {
  const left: Partial<Record<TokenClass, number>> = { input: wholes.input, output: wholes.output };
  const parts: TokenParts = {};
  for (const tokens of partialClasses) {
    const { plain, part } = tokenClassTable[tokens];
    const whole = left[plain] ?? 0;
    const count = Math.min(Math.max(counts[part] ?? 0, 0), whole);
    left[plain] = whole - count;
    left[tokens] = count;
    parts[part] = count;
  }
  return parts as Record<TokenPart, number>;
}

/**
 * The tokens of each class. Cached input comes first, then what was written to the cache, so that each token has one class. A negative count is
 * zero (rules "Chat"). Throws for a count that is not a safe integer.
 */
export function tokensByClass(usage: TokenUsage): Record<TokenClass, bigint> {
  const counts: Record<string, bigint> = {};
  for (const tokens of tokenClasses) {
    const row: Table[TokenClass] = tokenClassTable[tokens];
    if (row.plain === null) counts[tokens] = exactTokens(usage[tokens as 'input' | 'output']);
    else {
      const whole = counts[row.plain] ?? 0n;
      const part = exactTokens(usage[row.part] ?? 0);
      const own = part < whole ? part : whole;
      counts[row.plain] = whole - own;
      counts[tokens] = own;
    }
  }
  return counts;
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
  const { plain } = tokenClassTable[tokens];
  return list[tokens] ?? (plain === null ? undefined : priceIn(list, plain));
}

/** A count of tokens that can be multiplied exactly. A negative one is zero (rules "Chat"). Throws for a count that is not a safe integer. */
export function exactTokens(tokens: number): bigint {
  if (!Number.isSafeInteger(tokens)) throw new RangeError(`A token count must be a safe integer, not ${tokens}.`);
  return tokens < 0 ? 0n : BigInt(tokens);
}
