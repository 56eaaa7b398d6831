const STEP_MS = 0.1;
const STEPS = 100_000;

/** Counts of durations in steps of 0.1 ms up to 10 s, because a list of a million numbers would disturb what it measures. */
export class Durations {
  readonly #counts = new Uint32Array(STEPS);
  #total = 0;

  add(ms: number): void {
    const step = Math.min(STEPS - 1, Math.max(0, Math.floor(ms / STEP_MS)));
    this.#counts[step] = (this.#counts[step] ?? 0) + 1;
    this.#total += 1;
  }

  /** The duration in milliseconds that this share of all does not exceed; NaN if there are none. */
  quantile(share: number): number {
    let left = Math.ceil(this.#total * share);
    if (left === 0) return NaN;
    for (let step = 0; step < STEPS; step++) {
      left -= this.#counts[step] ?? 0;
      if (left <= 0) return (step + 1) * STEP_MS;
    }
    return STEPS * STEP_MS;
  }
}
