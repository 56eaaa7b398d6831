type Cell = string | number | null;

/** A table as `text/csv` (RFC 4180) with a header line. Null is an empty field. */
export function toCsv<Row extends Record<keyof Row, Cell>>(
  columns: readonly (keyof Row & string)[],
  rows: readonly Row[],
): string {
  const lines = rows.map((row) => columns.map((column) => field(row[column])).join(','));
  return [columns.join(','), ...lines].map((line) => `${line}\r\n`).join('');
}

function field(value: Cell): string {
  const text = String(value ?? '');
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
