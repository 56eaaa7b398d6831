/**
 * A map whose values weigh at most `max` together: one more removes the oldest, about a sixteenth of all. Each weighs 1 unless `weightOf`
 * says otherwise, and a value above `max` is not kept. Setting a key again makes it the newest.
 */
export class BoundedMap<V extends NonNullable<unknown>> extends Map<string, V> {
  readonly #max: number;
  readonly #weightOf: (value: V) => number;
  #weight = 0;

  constructor(max: number, weightOf: (value: V) => number = () => 1) {
    super();
    this.#max = max;
    this.#weightOf = weightOf;
  }

  override set(key: string, value: V): this {
    this.delete(key);
    super.set(key, value);
    this.#weight += this.#weightOf(value);
    if (this.#weight > this.#max) this.#removeOldest(key);
    return this;
  }

  /** Removes more than it must, because the search for the oldest passes the gaps of all that were removed before. */
  #removeOldest(newest: string): void {
    const target = this.#max - Math.floor(this.#max / 16);
    for (const oldest of this.keys()) {
      if (this.#weight <= (oldest === newest ? this.#max : target)) break;
      this.delete(oldest);
    }
  }

  override delete(key: string): boolean {
    const value = this.get(key);
    if (value === undefined) return super.delete(key);
    this.#weight -= this.#weightOf(value);
    return super.delete(key);
  }

  override clear(): void {
    this.#weight = 0;
    super.clear();
  }

  /** The value of a key, made if it is missing. */
  getOrMake(key: string, make: () => V): V {
    const value = this.get(key) ?? make();
    if (!this.has(key)) this.set(key, value);
    return value;
  }
}
