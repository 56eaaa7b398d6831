import { readKeyFacts, type KeyFacts } from '../../db/projects/key-facts.ts';
import type { Deps } from '../../deps.ts';
import type { PublicKey } from '../../schemas/own-key.ts';

/** What a key may do and has left, in the format of the API. */
export async function showKey({ db }: Pick<Deps, 'db'>, keyId: string): Promise<PublicKey> {
  const facts = await readKeyFacts(db, keyId);
  return {
    object: 'key',
    key_id: facts.keyId,
    name: facts.name,
    metadata: facts.metadata,
    project_id: facts.projectId,
    scopes: facts.scopes,
    models: facts.models,
    expires_at: facts.expiresAt,
    rpm: { limit: facts.rpm, remaining: facts.rpm === null ? null : Math.max(0, facts.rpm - facts.requests) },
    budgets: budgetsOf(facts),
    in_flight: { limit: facts.inFlightMax, now: facts.inFlight },
    balance: {
      available: facts.balance,
      reserved: facts.balanceReserved,
      overdraft: facts.overdraft,
      expiring: facts.expiring.map(({ credits, expiresAt }) => ({ credits, expires_at: expiresAt })),
      low: facts.isLow,
    },
  };
}

/** The budgets that the key has. */
function budgetsOf(key: KeyFacts): PublicKey['budgets'] {
  const periods = [
    { period: 'lifetime', limit: key.budget, spent: key.spent, reserved: key.reserved, renews_at: null },
    {
      period: 'daily',
      limit: key.budgetDaily,
      spent: key.daySpent,
      reserved: key.dayReserved,
      renews_at: key.nextDay,
    },
    {
      period: 'monthly',
      limit: key.budgetMonthly,
      spent: key.monthSpent,
      reserved: key.monthReserved,
      renews_at: key.nextMonth,
    },
  ] as const;
  return periods.flatMap(({ limit, spent, reserved, ...about }) =>
    limit === null ? [] : [{ ...about, limit, spent, reserved, remaining: Math.max(0, limit - spent - reserved) }],
  );
}
