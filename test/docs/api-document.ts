import { readFileSync } from 'node:fs';
import { format } from 'prettier';
import { errorTable, type ErrorCode } from '../../src/domain/errors.ts';
import { errorHelp } from '../../src/http/docs/error-help.ts';
import { mayRetry } from '../../src/http/docs/error-pages.ts';
import { statusOf } from '../../src/http/response/error-status.ts';
import { describedIn, operationName } from '../../src/http/openapi/describe-routes.ts';
import { allActions } from '../../src/admin/table.ts';
import { listCommands } from './list-commands.ts';
import { describedRoutes } from '../http/openapi/described-routes.ts';
import { committedDocuments } from '../http/openapi/shipped-document.ts';
import { typesOf } from './document-types.ts';

const root = new URL('../../', import.meta.url);

/**
 * The generated files by their path: the list of commands, the two OpenAPI documents, docs/API.md and docs/ADMIN-API.md with their generated parts written anew, and
 * the types of `tollgate-js` and of the console.
 */
export async function apiDocuments(): Promise<Map<string, string>> {
  const { openapi, 'admin-openapi': adminOpenapi } = committedDocuments();
  return new Map([
    ['src/admin/command-list.json', `${JSON.stringify(listCommands(), null, 1)}\n`],
    ['docs/openapi.json', `${JSON.stringify(openapi, null, 1)}\n`],
    ['docs/admin-openapi.json', `${JSON.stringify(adminOpenapi, null, 1)}\n`],
    ['docs/API.md', await withParts('docs/API.md', { routes: routeTable(), errors: errorTableText() })],
    ['docs/ADMIN-API.md', await withParts('docs/ADMIN-API.md', { actions: actionTableText() })],
    ['packages/tollgate-js/src/api-types.ts', await typesOf(openapi, sdkPaths)],
    ['console/src/api/client-types.ts', await typesOf(openapi, playgroundPaths)],
    ['console/src/api/admin-types.ts', await typesOf(adminOpenapi)],
  ]);
}

/** What `tollgate-js` calls. */
const sdkPaths = [
  '/api/v1/images/generate',
  '/api/v1/video/generate',
  '/api/v1/tasks/{task_id}',
  '/api/v1/tasks/{task_id}/events',
  '/api/v1/tasks/{task_id}/cancel',
];

/** What the playground of the console calls, but for chats, whose answers it streams. */
const playgroundPaths = [
  '/api/v1/models',
  '/api/v1/images/generate',
  '/api/v1/images/upload',
  '/api/v1/video/generate',
  '/api/v1/tasks/{task_id}',
];

/** A document with the lines between the two comments of each part replaced. */
async function withParts(path: string, parts: Record<string, string>): Promise<string> {
  const before = readFileSync(new URL(path, root), 'utf8');
  const after = Object.entries(parts).reduce((text, [name, part]) => withPart(path, text, name, part), before);
  return format(after, { parser: 'markdown', printWidth: 120, singleQuote: true });
}

function withPart(path: string, text: string, name: string, part: string): string {
  const begin = `<!-- ${name}: written by \`npm run docs:api\` -->\n`;
  const end = `<!-- end of ${name} -->`;
  const [head, rest] = text.split(begin);
  const [, tail] = rest?.split(end) ?? [];
  if (head === undefined || tail === undefined) throw new Error(`${path} has no part for ${name}.`);
  return `${head}${begin}\n${part}\n${end}${tail}`;
}

const routeTable = (): string =>
  [
    row('Request', 'Answers', 'What it does'),
    row('---', '---', '---'),
    ...describedIn(describedRoutes()).map((route) => {
      const { summary, description = '', answers } = route;
      const [first = ''] = description.split('\n\n');
      return row(`\`${operationName(route)}\``, Object.keys(answers).join(', '), `${summary}. ${first}`.trim());
    }),
    '',
  ].join('\n');

const actionTableText = (): string =>
  [
    row('Request', 'Role', 'Command', 'Refusals of its own'),
    row('---', '---', '---', '---'),
    ...allActions().flatMap(({ name, action: { route, refusals = [] } }) => {
      if ('local' in route) return [];
      const path = route.path.replace(/:(\w+)/g, '{$1}');
      const own = refusals.map((code) => `\`${code}\``).join(', ');
      return [row(`\`${route.method} ${path}\``, `\`${route.role}\``, `\`${name}\``, own)];
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
