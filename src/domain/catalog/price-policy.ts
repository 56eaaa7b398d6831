import { priceMax } from './price-schema.ts';

/** How prices follow from costs. */
export interface PricePolicy {
  /** What a price is of its cost, such as 1.25. Above zero, with at most `markupDigits` digits after the point. */
  markup: number;
  /** The lowest price of a request, in credits. */
  minimum: number;
  /** What one credit is worth, in micro-USD. */
  creditValue: number;
}

export const markupDigits = 6;
const markupUnit = 10 ** markupDigits;

/**
 * The price of what costs this many micro-USD, in credits, rounded up once. Throws `PriceTooHigh` for a price that a catalog may not have. The
 * markup counts as the decimal number that it is written as, so that 1.1 times 30,000 is 33,000.
 */
export const priceFor = (cost: number, policy: PricePolicy): number => creditsFor(cost, 1n, policy);

/** The price of 1,000 tokens whose million costs this many micro-USD. */
export const tokenPriceFor = (cost: number, policy: PricePolicy): number => creditsFor(cost, 1_000n, policy);

function creditsFor(cost: number, parts: bigint, { markup, creditValue }: PricePolicy): number {
  const dividend = BigInt(cost) * BigInt(Math.round(markup * markupUnit));
  const divisor = BigInt(markupUnit) * BigInt(creditValue) * parts;
  const credits = (dividend + divisor - 1n) / divisor;
  if (credits > BigInt(priceMax)) throw new PriceTooHigh(credits);
  return Number(credits);
}

/** A price above the highest that a catalog may have. */
export class PriceTooHigh extends Error {
  readonly credits: bigint;

  constructor(credits: bigint) {
    super(`A price of ${credits} credits is above the highest, ${priceMax}.`);
    this.name = 'PriceTooHigh';
    this.credits = credits;
  }
}
