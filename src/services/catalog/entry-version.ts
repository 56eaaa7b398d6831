import type { CatalogEntry } from '../../domain/catalog/catalog.ts';
import { canonicalJson } from '../../domain/canonical-json.ts';
import { GatewayError } from '../../domain/errors.ts';
import type { JsonValue } from '../../domain/json.ts';
import { sha256Hex } from '../../platform/crypto/hash.ts';

/** The version of a model: a digest of its entry, so that equal entries have equal versions. */
export const versionOfEntry = ({ model, private: hidden }: CatalogEntry): string => digestOf({ model, hidden });

/** The version of a whole catalog, in its order. */
export const versionOfCatalog = (entries: readonly CatalogEntry[]): string => digestOf(entries.map(versionOfEntry));

/** Throws `version_conflict` if a change names the version that it is based on, by `param`, and that is not the present one. */
export function demandVersion(
  what: string,
  { based, present, param = 'version' }: { based: string | undefined; present: string; param?: string },
): void {
  if (based === undefined || based === present) return;
  throw new GatewayError('version_conflict', {
    param,
    message: `${what} was changed after it was read: its version is ${present} now. Read it again, and repeat the change on that.`,
  });
}

// The text makes it plain JSON, without members that are undefined.
const digestOf = (value: object): string =>
  sha256Hex(canonicalJson(JSON.parse(JSON.stringify(value)) as JsonValue)).slice(0, 16);
