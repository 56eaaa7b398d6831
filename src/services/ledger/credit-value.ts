import type { Config } from '../../config/load-config.ts';
import type { Database } from '../../db/database.ts';
import { readCreditValue } from '../../db/ledger/credit-value.ts';
import { creditValueOfNew } from '../../domain/ledger/money.ts';

/**
 * What one credit is worth, in micro-USD: the setting, else what is stored with the installation. Without a database, for commands that only
 * read files, the value of a new installation.
 */
export async function creditValueOf({
  config,
  db,
}: {
  config: Pick<Config, 'accounting'>;
  db?: Database | undefined;
}): Promise<number> {
  const { creditValueMicroUsd: own } = config.accounting;
  return own ?? (db === undefined ? creditValueOfNew : storedValue(db));
}

/** The credits that are worth so many micro-USD, at least one. */
export const creditsWorth = async (deps: Parameters<typeof creditValueOf>[0], microUsd: number): Promise<number> =>
  Math.max(1, Math.round(microUsd / Math.max(1, await creditValueOf(deps))));

/** Only `migrate` changes it, before the processes start. */
function storedValue(db: Database): Promise<number> {
  const cached = stored.get(db);
  if (cached) return cached;
  const reading = readCreditValue(db);
  stored.set(db, reading);
  reading.catch(() => stored.delete(db));
  return reading;
}
const stored = new WeakMap<Database, Promise<number>>();
