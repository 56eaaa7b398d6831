import { expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Action, ActionRoute } from '../../src/admin/define-action.ts';
import { allActions } from '../../src/admin/table.ts';
import { projectFolder } from '../support/program.ts';
import { notInTheConsole } from './not-in-the-console.ts';

/** The texts of the console's own files. */
const sources = readdirSync(join(projectFolder, 'console/src'), { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.tsx?$/.test(file) && !file.endsWith('-types.ts'))
  .map((file) => readFileSync(join(projectFolder, 'console/src', file), 'utf8'))
  .join('\n');

/** Every path that the console asks for, with `*` for what it fills in. A path may be built of several words, such as `enable` and `disable`. */
const paths = [...sources.matchAll(/['"`](\/[a-z][^'"`\s]*)['"`]/g)].map(([, path = '']) =>
  path.replace(/\$?\{[^}]*\}/g, '*'),
);

/** How the console changes something: by `change('post', '/path'`. */
const calls = [...sources.matchAll(/change\(\s*'(\w+)',\s*['"`]([^'"`]+)['"`]/g)].map(
  ([, method = '', path = '']) => `${method.toUpperCase()} ${path.replace(/\$?\{[^}]*\}/g, '*')}`,
);

const matches = (written: string, path: string): boolean =>
  new RegExp(`^${written.replace(/[.?+()[\]]/g, '\\$&').replaceAll('*', '[^/]+')}$`).test(path);

function isInConsole({ route }: Action): boolean {
  if ('local' in route) return false;
  const { method, path }: ActionRoute = route;
  const filled = path.replace(/:\w+/g, 'some');
  return method === 'GET'
    ? paths.some((written) => matches(written, filled))
    : calls.some((written) => matches(written, `${method} ${filled}`));
}

it('the list of what the console cannot do in docs/CLI.md is that of the actions that the console does not call', () => {
  const missing = allActions().flatMap(({ name, action }) => (isInConsole(action) ? [] : [name]));
  expect(Object.keys(notInTheConsole()).sort()).toEqual(missing.sort());
  expect(Object.values(notInTheConsole())).not.toContain('');
});
