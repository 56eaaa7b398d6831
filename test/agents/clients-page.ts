import { programs } from './programs.ts';
import type { Result } from './run-program.ts';

const marks = { begin: '<!-- begin: npm run test:agents -->', end: '<!-- end: npm run test:agents -->' };

/** docs/CLIENTS.md with the results in its table. Rows of programs that did not run stay, and so does what stands outside of the marks. */
export function clientsPage(page: string, results: readonly Result[]): string {
  const [before = '', rest = ''] = page.split(marks.begin);
  const [inside = '', after = '\n'] = rest.split(marks.end);
  const earlier = inside.split('\n').map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
  const columns = ['Anthropic', 'OpenAI', 'Gemini', 'its default model'];
  const rows = programs.map(({ name, package: { version } }) => {
    const title = `${name} ${version}`;
    const ran = results.filter(({ program }) => program === name);
    const before = earlier.find(([first]) => first === title);
    return [
      title,
      ...columns.map((family, index) =>
        ran.length > 0
          ? (ran.find((one) => one.family === family)?.outcome ?? '–')
          : (before?.[index + 1] ?? 'not tried'),
      ),
    ];
  });
  return `${before}${marks.begin}\n\n${table([['Program', ...columns], ...rows])}\n\n${marks.end}${after}`;
}

function table(rows: readonly string[][]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const [head = [], ...others] = rows.map(line);
  return [head, line(widths.map((width) => '-'.repeat(width))), ...others].join('\n');
}
