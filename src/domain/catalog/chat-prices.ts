import type { CatalogEntry } from './catalog.ts';
import type { LongInputPrices, Pricing, TokenPrices } from './price-schema.ts';
import { tokenPriceFor, type PricePolicy } from './price-policy.ts';
import { tokenClassTable, tokenClasses, type TokenClass } from './token-classes.ts';
import { everyRate, ratesFor, tokenRates } from './upstream-cost.ts';

/** The members of `pricing` that follow from the costs of a chat model. */
export type ChatPrices = TokenPrices & Pick<Pricing, 'min_credits_per_request' | 'long_input'>;

/** What a million tokens of each class cost at the family where that class is dearest, in micro-USD. */
export type DearestRates = Record<TokenClass, { cost: number; family: string }>;

/**
 * The prices of a chat model from its costs. Each class of tokens has that of the family where it is dearest, and a class that costs what its plain
 * class does has no price of its own. `long_input` begins at the lowest limit of all families below the model's context, with the dearest prices above it.
 */
export function chatPrices(entry: CatalogEntry, policy: PricePolicy): ChatPrices {
  const usual = pricesOf(dearestRates(entry, 'usual'), policy);
  const above = longInputFrom(entry);
  const long = above === undefined ? undefined : pricesOf(dearestRates(entry, 'long'), policy);
  return {
    ...withoutPlain(usual),
    min_credits_per_request: policy.minimum,
    ...(above !== undefined && long && isDearer(long, usual) && { long_input: longPrices(above, long) }),
  };
}

/** The rates of requests with a usual or a long input, each of the family where it is highest. */
export function dearestRates(entry: CatalogEntry, input: 'usual' | 'long'): DearestRates {
  const from = longInputFrom(entry) ?? Infinity;
  const rates = Object.entries(entry.private.upstream).flatMap(([family, { cost }]) => {
    const limits = limitsOf(entry, cost).filter((limit) => limit >= from);
    const tiers = input === 'usual' ? [ratesFor(cost, 0)] : [from, ...limits].map((limit) => ratesFor(cost, limit + 1));
    return tiers.flatMap((tier) => (tier === undefined ? [] : [{ family, rates: everyRate(tier) }]));
  });
  return Object.fromEntries(
    tokenClasses.map((tokens) => [
      tokens,
      rates
        .map(({ family, rates: of }) => ({ family, cost: of[tokens] }))
        .reduce((dearest, each) => (each.cost > dearest.cost ? each : dearest), { family: '', cost: 0 }),
    ]),
  ) as DearestRates;
}

/** Above how many tokens an input is long: the lowest limit of any family. Undefined where no family has one. */
export function longInputFrom(entry: CatalogEntry): number | undefined {
  const limits = Object.values(entry.private.upstream).flatMap(({ cost }) => limitsOf(entry, cost));
  return limits.length === 0 ? undefined : Math.min(...limits);
}

const limitsOf = (entry: CatalogEntry, cost: Parameters<typeof tokenRates>[0]): number[] =>
  tokenRates(cost)
    .flatMap(({ above_input_tokens: above }) => above ?? [])
    .filter((above) => above < (entry.private.context_tokens ?? Infinity));

type EveryPrice = Record<TokenClass, number>;

function pricesOf(rates: DearestRates, policy: PricePolicy): EveryPrice {
  const priceOf = (tokens: TokenClass): number => tokenPriceFor(rates[tokens].cost, policy);
  const entries = tokenClasses.map((tokens) => [tokens, priceOf(tokens)]);
  const prices = Object.fromEntries(entries) as EveryPrice;
  // The specification wants a price of both, also where a provider takes none.
  return { ...prices, input: Math.max(1, prices.input), output: Math.max(1, prices.output) };
}

const isDearer = (long: EveryPrice, usual: EveryPrice): boolean =>
  tokenClasses.some((tokens) => long[tokens] > usual[tokens]);

const longPrices = (above: number, prices: EveryPrice): LongInputPrices => ({
  above_tokens: above,
  ...withoutPlain(prices),
});

/** Without the classes whose price is that of their plain class. */
function withoutPlain(prices: EveryPrice): TokenPrices {
  const own = tokenClasses.filter((tokens) => {
    const { plain } = tokenClassTable[tokens];
    return plain === null || prices[tokens] !== prices[plain];
  });
  return Object.fromEntries(own.map((tokens) => [`credits_per_1k_${tokens}_tokens`, prices[tokens]])) as never;
}
