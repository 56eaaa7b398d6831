/** The middle value, the larger one of two; NaN if there is none. */
export const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;

/** The median with the smallest and the largest value. */
export const medianAndRange = (values: readonly number[], digits: number): string =>
  `${median(values).toFixed(digits)} (${Math.min(...values).toFixed(digits)}–${Math.max(...values).toFixed(digits)})`;

/** Prints one line. */
export const say = (text: string): void => void process.stdout.write(`${text}\n`);

/** Prints a table in Markdown. The first column is aligned to the left, the others to the right. */
export function sayTable(header: readonly string[], lines: readonly (readonly string[])[]): void {
  const widths = header.map((_, column) => Math.max(...[header, ...lines].map((line) => (line[column] ?? '').length)));
  const rule = widths.map((width, column) => (column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`));
  for (const line of [header, rule, ...lines])
    say(
      `| ${line.map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0))).join(' | ')} |`,
    );
}
