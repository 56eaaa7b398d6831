/** Aligned plain text for people. Control characters are removed: a name or a provider's text must not control the terminal. */
type Cell = string | number | boolean | null | undefined;

/** One line per row under a line of headings. */
export function table(rows: readonly Readonly<Record<string, Cell>>[], nothing = 'There are no rows.'): string {
  const headings = Object.keys(rows[0] ?? {});
  if (headings.length === 0) return nothing;
  const lines = [
    headings.map((heading) => heading.toUpperCase()),
    ...rows.map((row) => headings.map((name) => shown(row[name]))),
  ];
  const widths = headings.map((_, column) => Math.max(...lines.map((line) => (line[column] ?? '').length)));
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** One line per fact. */
export function facts(about: Readonly<Record<string, Cell>>): string {
  const width = Math.max(0, ...Object.keys(about).map((name) => name.length));
  return Object.entries(about)
    .map(([name, value]) => `${name.padEnd(width)}  ${shown(value)}`)
    .join('\n');
}

/** Adds a note when the list ends at its limit. */
export const limited = (text: string, rows: readonly unknown[], limit: number): string =>
  rows.length < limit ? text : `${text}\n(the first ${limit} rows; --limit shows more)`;

/** A time, or unix seconds, as a UTC time to the second. */
export const time = (at: Date | number | null): string | null =>
  at === null
    ? null
    : `${new Date(+at * (at instanceof Date ? 1 : 1000)).toISOString().slice(0, 19).replace('T', ' ')}Z`;

/** One line without control characters. */
export const clean = (text: string): string => text.replace(/\p{Cc}|\p{Cf}|\p{Zl}|\p{Zp}/gu, ' ');

const shown = (value: Cell): string =>
  value === null || value === undefined || value === '' ? '-' : clean(String(value));
