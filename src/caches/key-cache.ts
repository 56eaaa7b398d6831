import type { Database } from '../db/database.ts';
import { findLiveKey, type LiveKey } from '../db/keys.ts';
import { digestApiKey } from '../platform/crypto/api-key.ts';
import { nameOfText } from '../platform/crypto/hash.ts';

export interface KeyCache {
  /** The live key of a secret, or null if it is unknown, expired or revoked. A revocation takes effect within `keptMs`. */
  find(secret: string): Promise<LiveKey | null>;
  forget(): void;
}

/** Beyond this number the oldest entry is dropped. */
const keysMax = 50_000;

/**
 * Keeps keys under a plain digest of the secret, which costs a tenth of an HMAC; only stored digests need a pepper. An outdated
 * entry cannot spend credits, because every admission reads the key's row.
 */
export function createKeyCache(db: Database, peppers: readonly { secret: Buffer }[], keptMs: number): KeyCache {
  const known = new Map<string, { key: Promise<LiveKey | null>; until: number }>();
  return {
    find(secret) {
      const name = nameOfText(secret);
      const remembered = known.get(name);
      if (remembered && remembered.until > performance.now()) return remembered.key;
      const key = findLiveKey(
        db,
        peppers.map((pepper) => digestApiKey(secret, pepper.secret)),
      );
      known.delete(name);
      known.set(name, { key, until: performance.now() + keptMs });
      // Unknown secrets are not kept, so that a new key works immediately and guessed keys use no memory.
      key.then(
        (found) => found ?? known.delete(name),
        () => known.delete(name),
      );
      const oldest = known.size > keysMax ? known.keys().next() : undefined;
      if (oldest && !oldest.done) known.delete(oldest.value);
      return key;
    },
    forget: () => known.clear(),
  };
}
