import type { LRUCache } from 'lru-cache';

/** The value of a key, made if it is missing. */
export function getOrMake<V extends NonNullable<unknown>>(cache: LRUCache<string, V>, key: string, make: () => V): V {
  const cached = cache.get(key);
  if (cached !== undefined) return cached;
  const made = make();
  cache.set(key, made);
  return made;
}
