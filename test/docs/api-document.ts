import { readFileSync } from 'node:fs';
import { format } from 'prettier';
import { errorTable, type ErrorCode } from '../../src/domain/errors.ts';
import { errorHelp } from '../../src/http/docs/error-help.ts';
import { mayRetry } from '../../src/http/docs/error-pages.ts';
import { statusOf } from '../../src/http/error-status.ts';
import { operations } from '../../src/http/openapi/operations.ts';
import { committedDocument } from '../http/openapi/shipped-document.ts';
import { clientTypes } from './client-types.ts';

const root = new URL('../../', import.meta.url);

/** The generated files by their path: `docs/openapi.json`, `docs/API.md` with its generated parts written anew, and the types of the client. */
export async function apiDocuments(): Promise<Map<string, string>> {
  const before = readFileSync(new URL('docs/API.md', root), 'utf8');
  const after = withPart(withPart(before, 'routes', routeTable()), 'errors', errorTableText());
  const document = committedDocument();
  return new Map([
    ['docs/openapi.json', `${JSON.stringify(document, null, 1)}\n`],
    ['docs/API.md', await format(after, { parser: 'markdown', printWidth: 120, singleQuote: true })],
    ['packages/tollgate-js/src/api-types.ts', await clientTypes(document)],
  ]);
}

/** The text with the lines between the two comments of `name` replaced. */
function withPart(text: string, name: string, part: string): string {
  const begin = `<!-- ${name}: written by \`npm run docs:api\` -->\n`;
  const end = `<!-- end of ${name} -->`;
  const [head, rest] = text.split(begin);
  const [, tail] = rest?.split(end) ?? [];
  if (head === undefined || tail === undefined) throw new Error(`docs/API.md has no part for ${name}.`);
  return `${head}${begin}\n${part}\n${end}${tail}`;
}

const routeTable = (): string =>
  [
    row('Request', 'Answers', 'What it does'),
    row('---', '---', '---'),
    ...Object.entries(operations).map(([name, { summary, description = '', answers }]) => {
      const [first = ''] = description.split('\n\n');
      return row(`\`${name}\``, Object.keys(answers).join(', '), `${summary}. ${first}`.trim());
    }),
    '',
  ].join('\n');

const errorTableText = (): string =>
  [
    row('Code', 'Status', 'Retry', 'When'),
    row('---', '---', '---', '---'),
    ...(Object.keys(errorTable) as ErrorCode[]).map((code) =>
      row(`\`${code}\``, String(statusOf[code]), mayRetry(code) ? 'yes' : 'no', errorHelp[code].when),
    ),
    '',
  ].join('\n');

const row = (...cells: string[]): string => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
