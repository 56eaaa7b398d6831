/** What one credit is worth, and how amounts of money are shown. */
export interface CreditMoney {
  /** Millionths of the currency's unit. */
  creditValue: number;
  /** Before an amount, such as `$`. */
  sign: string;
}

/** What a credit is worth in a new installation: a millionth of a dollar, so that prices, costs and margins are in one unit. */
export const creditValueOfNew = 1;

/** An amount of millionths with at least two digits after the point, exact: `$0.04`, `$1,250.00`, `-$0.000313`. */
export function money(micro: number | bigint, sign: string): string {
  const amount = typeof micro === 'bigint' ? micro : BigInt(Math.round(micro));
  const digits = String(amount < 0n ? -amount : amount).padStart(7, '0');
  const whole = BigInt(digits.slice(0, -6)).toLocaleString('en');
  const fraction = digits.slice(-6).replace(/0{1,4}$/, '');
  return `${amount < 0n ? '-' : ''}${sign}${whole}.${fraction}`;
}

/** What so many credits are worth. */
export const worth = (credits: number, { creditValue, sign }: CreditMoney): string =>
  money(BigInt(credits) * BigInt(creditValue), sign);

/** Credits and their worth side by side: `40,000 credits · $0.04`. */
export const creditsAndMoney = (credits: number, about: CreditMoney): string =>
  `${count(credits)} ${credits === 1 ? 'credit' : 'credits'} · ${worth(credits, about)}`;

/** The same in the cell of a table whose heading says that they are credits: `40,000 · $0.04`. */
export const creditsCell = (credits: number, about: CreditMoney): string =>
  `${count(credits)} · ${worth(credits, about)}`;

const count = (credits: number): string => credits.toLocaleString('en');
