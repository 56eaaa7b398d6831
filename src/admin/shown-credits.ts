import type { Config } from '../config/load-config.ts';
import type { Database } from '../db/database.ts';
import { creditsCell } from '../domain/ledger/money.ts';
import { creditValueOf } from '../services/ledger/credit-value.ts';

export interface ShownDeps {
  db: Database;
  config: Pick<Config, 'accounting'>;
}

/** Shows credits with their worth, for people: `40,000 · $0.04`. Documents have the number alone. */
export async function shownCredits(deps: ShownDeps): Promise<(credits: number) => string> {
  const money = { creditValue: await creditValueOf(deps), sign: deps.config.accounting.currencySign };
  return (credits) => creditsCell(credits, money);
}
