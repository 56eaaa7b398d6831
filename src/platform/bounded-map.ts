/** A map with at most `max` keys: one more removes the oldest. Setting a key again makes it the newest. */
export class BoundedMap<V> extends Map<string, V> {
  readonly #max: number;

  constructor(max: number) {
    super();
    this.#max = max;
  }

  override set(key: string, value: V): this {
    this.delete(key);
    super.set(key, value);
    for (const oldest of this.keys()) {
      if (this.size <= this.#max) break;
      this.delete(oldest);
    }
    return this;
  }

  /** The value of a key, made if it is missing. */
  getOrMake(key: string, make: () => V): V {
    const value = this.get(key) ?? make();
    if (!this.has(key)) this.set(key, value);
    return value;
  }
}
