/** The middle value, the larger one of two; NaN if there is none. */
export const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;

/** The median with the smallest and the largest value. */
export const medianAndRange = (values: readonly number[], digits: number): string =>
  `${median(values).toFixed(digits)} (${Math.min(...values).toFixed(digits)}–${Math.max(...values).toFixed(digits)})`;

/** Prints one line. */
export const say = (text: string): void => void process.stdout.write(`${text}\n`);
