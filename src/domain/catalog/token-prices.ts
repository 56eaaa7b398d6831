import { computedOnce } from '../computed-once.ts';
import { everyPrice, isOutputClass, tokenClasses, type TokenClass } from './token-classes.ts';
import type { LongInputPrices, TokenPrices } from './price-schema.ts';

/** The member of a price that is for 1,000 tokens of a class. */
export function priceMemberOf<Tokens extends TokenClass>(tokens: Tokens): `credits_per_1k_${Tokens}_tokens` {
  return `credits_per_1k_${tokens}_tokens`;
}

/** The members of a price that are for 1,000 tokens. */
export const tokenPriceMembers = tokenClasses.map(priceMemberOf);

const outputPriceMembers = tokenClasses.filter(isOutputClass).map(priceMemberOf);
const inputPriceMembers = tokenPriceMembers.filter((member) => !outputPriceMembers.includes(member));

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
  const { usual, long } = tiersOf(pricing);
  return pricing.long_input === undefined || inputTokens <= pricing.long_input.above_tokens ? usual : long;
}

/** What 1,000 tokens of input and of output cost at most, whatever their classes, for an answer whose input has at most this many tokens. */
export function dearestPrices(pricing: TieredPrices, inputTokens: number): DearestPrices {
  const { usual, ofAny } = tiersOf(pricing).dearest;
  return pricing.long_input === undefined || inputTokens <= pricing.long_input.above_tokens ? usual : ofAny;
}

interface DearestPrices {
  input: number;
  output: number;
}

interface Tiers {
  usual: ClassPrices;
  /** The same as `usual` where long inputs have no prices of their own. */
  long: ClassPrices;
  /** The dearest of shorter inputs, and the dearest of all. */
  dearest: { usual: DearestPrices; ofAny: DearestPrices };
}

const tiersOf = computedOnce((pricing: TieredPrices): Tiers => {
  const usual = everyClass(pricing);
  const long = pricing.long_input === undefined ? usual : everyClass(pricing.long_input, usual);
  return { usual, long, dearest: { usual: dearestOf(usual), ofAny: dearestOf(usual, long) } };
});

const dearestOf = (...tiers: readonly ClassPrices[]): DearestPrices => ({
  input: Math.max(...tiers.flatMap((prices) => inputPriceMembers.map((member) => prices[member]))),
  output: Math.max(...tiers.flatMap((prices) => outputPriceMembers.map((member) => prices[member]))),
});

const everyClass = (...prices: readonly Partial<TokenPrices>[]): ClassPrices => {
  const every = everyPrice(
    ...prices.map((own) => Object.fromEntries(tokenClasses.map((tokens) => [tokens, own[priceMemberOf(tokens)]]))),
  );
  return Object.fromEntries(tokenClasses.map((tokens) => [priceMemberOf(tokens), every[tokens]])) as ClassPrices;
};
