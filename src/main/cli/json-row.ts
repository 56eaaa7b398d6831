/**
 * A row as `--json` shows it: columns in snake_case, times in whole unix seconds. What a JSON column holds stays as it is.
 */
export function jsonRow(row: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]: [string, unknown]) => [
      name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      value instanceof Date ? Math.floor(value.getTime() / 1000) : value,
    ]),
  );
}
