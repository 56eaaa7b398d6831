import { programs } from './programs.ts';
import type { Result } from './run-program.ts';

const marks = { begin: '<!-- begin: npm run test:agents -->', end: '<!-- end: npm run test:agents -->' };

/** docs/CLIENTS.md with the results in its table. What stands outside of the marks stays. */
export function clientsPage(page: string, results: readonly Result[]): string {
  const [before = '', rest = ''] = page.split(marks.begin);
  const after = rest.split(marks.end)[1] ?? '\n';
  const columns = [...new Set(results.map(({ family }) => family))];
  const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const lines = programs.map(({ name, package: { version } }) =>
    row([
      `${name} ${version}`,
      ...columns.map((family) => results.find((one) => one.program === name && one.family === family)?.outcome ?? '–'),
    ]),
  );
  const table = [row(['Program', ...columns]), row(['---', ...columns.map(() => '---')]), ...lines].join('\n');
  return `${before}${marks.begin}\n\n${table}\n\n${marks.end}${after}`;
}
