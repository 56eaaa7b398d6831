/**
 * `compute`, whose result is kept for each object. For objects that never change and live long, such as prices of the catalog, which each
 * request reads.
 */
export function computedOnce<Key extends object, Value extends NonNullable<unknown>>(
  compute: (key: Key) => Value,
): (key: Key) => Value {
  const computed = new WeakMap<Key, Value>();
  return (key) => {
    const kept = computed.get(key);
    if (kept !== undefined) return kept;
    const value = compute(key);
    computed.set(key, value);
    return value;
  };
}
