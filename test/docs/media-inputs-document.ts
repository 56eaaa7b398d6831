import { mediaFamilies } from '../../src/adapters/registry.ts';
import { anyNumber, type MediaSupport } from '../../src/domain/tasks/media-support.ts';
import { mediaInputKeys, type MediaInputKey } from '../../src/domain/catalog/parameter-value.ts';
import { taskTypes } from '../../src/domain/tasks/task.ts';

/** The document with the table of families and inputs. */
export const providersDocument = new URL('../../docs/PROVIDERS.md', import.meta.url);

const begin = '<!-- begin: npm run docs:media -->';
const end = '<!-- end: npm run docs:media -->';

/** The document with this table between its marks. Throws if the marks are missing. */
export function withMediaInputs(document: string, table: string): string {
  const [before, rest] = document.split(begin);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined) throw new Error('docs/PROVIDERS.md has no marks for the table');
  return `${before}${begin}\n\n${table}\n\n${end}${after}`;
}

/** What the adapter of each family sends, by the type of task. */
export function mediaInputsTable(): string {
  const rows = Object.entries(mediaFamilies).flatMap(([family, types]) =>
    taskTypes.flatMap((type) => {
      const support = types[type];
      return support
        ? [[`\`${family}\`, ${type}`, ...mediaInputKeys.map((key) => cellOf(support, key)), notes(support)]]
        : [];
    }),
  );
  const head = ['Family, task', ...mediaInputKeys.map((key) => `\`${key}\``), 'Not together, left out'];
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)));
  const line = (cells: string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}

function cellOf({ most }: MediaSupport, key: MediaInputKey): string {
  if (most[key] === 0) return 'no';
  if (key !== 'reference_images') return 'yes';
  return most[key] === anyNumber ? 'as many as the model takes' : `at most ${most[key]}`;
}

function notes({ apart = [], leavesOut = [] }: MediaSupport): string {
  return [
    ...apart.map(([first, second]) => `\`${first}\` with \`${second}\``),
    ...leavesOut.map(({ parameter, beside }) => `\`${parameter}\` is left out beside \`${beside}\``),
  ].join('; ');
}
