/** The document with the table. */
export const apiDocument = new URL('../../docs/API.md', import.meta.url);

const begin = '<!-- begin: npm run docs:dialects -->';
const end = '<!-- end: npm run docs:dialects -->';

/** The document with this table between its marks. Throws if the marks are missing. */
export function withMatrix(document: string, table: string): string {
  const [before, rest] = document.split(begin);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined) throw new Error('docs/API.md has no marks for the table');
  return `${before}${begin}\n\n${table}\n\n${end}${after}`;
}
