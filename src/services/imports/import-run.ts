import type { KeyLimits } from '../../db/projects/keys.ts';
import type { Deps } from '../../deps.ts';
import type { ImportedKey } from '../../domain/imports/imported.ts';

/** What an import writes with. */
export type ImportDeps = Pick<Deps, 'db' | 'config' | 'sealer'>;

export interface ImportRun {
  /** The name of the import, in references and in the audit log. */
  source: string;
  actor: string;
  /** Told what was done so far. */
  progress: (done: string) => void;
}

/** The limits of a key that it may lack there: without one it has that of a new key here. A key that is disabled there has expired here. */
export const keyLimitsOf = (
  { config: { keys } }: Pick<ImportDeps, 'config'>,
  key: ImportedKey,
): Pick<KeyLimits, 'rpm' | 'inFlightMax' | 'expiresAt'> => ({
  rpm: key.rpm ?? keys.rpmDefault,
  inFlightMax: key.inFlightMax ?? keys.inFlightMaxDefault,
  expiresAt: expiryOf(key),
});

const expiryOf = ({ enabled, expiresAt }: Pick<ImportedKey, 'enabled' | 'expiresAt'>): Date | null => {
  if (!enabled) return new Date(Math.min(Date.now(), (expiresAt ?? Infinity) * 1_000));
  return expiresAt === null ? null : toDate(expiresAt);
};

/** The end of the year 9999: PostgreSQL reads no later date in ISO 8601. */
const lastSecond = 253_402_300_799;

/** A time in unix seconds, or the nearest one that can be stored. */
export const toDate = (seconds: number): Date => new Date(Math.min(Math.max(0, seconds), lastSecond) * 1_000);
