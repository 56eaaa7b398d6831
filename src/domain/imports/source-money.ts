/** One micro-USD is a millionth of a US dollar. */
const microPerUsd = 1_000_000;

/**
 * Credits of a quota of one-api or new-api, of which `quotaPerUsd` are one US dollar, rounded down; null beyond the range of exact
 * integers. `creditValue` is in micro-USD.
 */
export function creditsOfQuota(quota: bigint, quotaPerUsd: number, creditValue: number): number | null {
  // As thousandths, because an option may have a fraction.
  const divisor = BigInt(Math.round(quotaPerUsd * 1_000)) * BigInt(creditValue);
  return exact(floored(quota * BigInt(microPerUsd) * 1_000n, divisor));
}

/** The quota of credits, rounded up or down. Takes what `creditsOfQuota` does. */
export function quotaOfCredits(
  credits: bigint,
  { quotaPerUsd, creditValue }: { quotaPerUsd: number; creditValue: number },
  rounded: 'up' | 'down',
): bigint {
  const amount = credits * BigInt(creditValue) * BigInt(Math.round(quotaPerUsd * 1_000));
  const divisor = BigInt(microPerUsd) * 1_000n;
  return rounded === 'down' ? floored(amount, divisor) : -floored(-amount, divisor);
}

/** The sum of numbers, with all its digits: as text if a number cannot hold it, as `parseExactly` reads one. */
export function exactSum(values: Iterable<number | bigint>): number | string {
  let sum = 0n;
  for (const value of values) sum += BigInt(value);
  return exact(sum) ?? String(sum);
}

/** Credits of an amount in US dollars, rounded down; null beyond the range of exact integers. */
export function creditsOfUsd(usd: number, creditValue: number): number | null {
  // What is less than a millionth of a credit is an error of binary fractions.
  const credits = Math.floor(Number(((usd * microPerUsd) / creditValue).toFixed(6)));
  return Number.isSafeInteger(credits) ? credits : null;
}

function floored(amount: bigint, divisor: bigint): bigint {
  const quotient = amount / divisor;
  return amount < 0n && quotient * divisor !== amount ? quotient - 1n : quotient;
}

const exact = (value: bigint): number | null => (Number.isSafeInteger(Number(value)) ? Number(value) : null);
