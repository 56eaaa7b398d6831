import { readKeyFacts, type KeyFacts } from '../../db/projects/key-facts.ts';
import type { Deps } from '../../deps.ts';
import { creditValueOf } from '../ledger/credit-value.ts';

/** What a key has used and has left, in US dollars, as clients of other gateways read it. */
export interface FormerBilling {
  facts: KeyFacts;
  usedUsd: number;
  leftUsd: number;
  /** Whether the key itself has no budget, so that its project's credits are what is left. */
  isUnlimited: boolean;
}

/** What is left is the least of the key's budgets and of its project's credits with the overdraft. */
export async function readFormerBilling(deps: Pick<Deps, 'db' | 'config'>, keyId: string): Promise<FormerBilling> {
  const [facts, creditValue] = await Promise.all([readKeyFacts(deps.db, keyId), creditValueOf(deps)]);
  const usd = (credits: number): number => (credits * creditValue) / 1_000_000;
  const budgets = [
    [facts.budget, facts.spent + facts.reserved],
    [facts.budgetDaily, facts.daySpent + facts.dayReserved],
    [facts.budgetMonthly, facts.monthSpent + facts.monthReserved],
  ] as const;
  const left = budgets.flatMap(([budget, used]) => (budget === null ? [] : [budget - used]));
  const least = Math.max(0, Math.min(facts.balance + facts.overdraft, ...left));
  return { facts, usedUsd: usd(facts.spent), leftUsd: usd(least), isUnlimited: facts.budget === null };
}
