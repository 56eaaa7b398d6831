/**
 * Aligned plain text for people: one line per row under a line of headings. Control characters are removed here and in `factText`: a name
 * or a provider's text must not control the terminal.
 */
export function table(rows: readonly Readonly<Record<string, unknown>>[], nothing = 'There are no rows.'): string {
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
export function factText(about: object): string {
  const width = Math.max(0, ...Object.keys(about).map((name) => name.length));
  return Object.entries(about)
    .map(([name, value]: [string, unknown]) => `${name.padEnd(width)}  ${shown(value)}`)
    .join('\n');
}

/** A time, or unix seconds, as a UTC time to the second. */
export const time = (at: Date | number | null): string | null =>
  at === null
    ? null
    : `${new Date(+at * (at instanceof Date ? 1 : 1000)).toISOString().slice(0, 19).replace('T', ' ')}Z`;

/** One line without control characters. */
export const oneLine = (text: string): string => text.replace(/\p{Cc}|\p{Cf}|\p{Zl}|\p{Zp}/gu, ' ');

/** US dollars from micro-USD, exact to the sixth digit. */
export const usd = (microUsd: number): string => {
  const digits = String(Math.abs(microUsd)).padStart(7, '0');
  return `${microUsd < 0 ? '-' : ''}${digits.slice(0, -6)}.${digits.slice(-6)}`;
};

function shown(value: unknown): string {
  if (value === null || value === undefined || value === '') return '-';
  return oneLine(typeof value === 'string' ? value : JSON.stringify(value));
}
