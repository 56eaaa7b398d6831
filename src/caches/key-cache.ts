import type { Database } from '../db/database.ts';
import { findLiveKey, type LiveKey } from '../db/keys.ts';
import { digestApiKey } from '../platform/crypto/api-key.ts';
import { nameOfText } from '../platform/crypto/hash.ts';

export interface KeyCache {
  /** The live key behind a secret, or null for every kind of "no". A revocation is seen within the cache's time. */
  find(secret: string): Promise<LiveKey | null>;
  forget(): void;
}

/** How many keys one process remembers; beyond it the oldest are asked for again. */
const rememberedMax = 50_000;

/** Keys in memory by an unkeyed digest, a tenth of an HMAC's cost; the peppers are for what is stored. Decides who may ask; what may be spent is decided by admission alone. */
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
      // An unknown secret is not remembered: a key that was just created works at once, and guesses take no memory.
      key.then(
        (found) => found ?? known.delete(name),
        () => known.delete(name),
      );
      const oldest = known.size > rememberedMax ? known.keys().next() : undefined;
      if (oldest && !oldest.done) known.delete(oldest.value);
      return key;
    },
    forget: () => known.clear(),
  };
}
