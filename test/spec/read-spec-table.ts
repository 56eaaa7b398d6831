import { readFileSync } from 'node:fs';

/** One row of docs/SPEC.md. */
export interface SpecRow {
  /** The part of the specification and what of it, as `2.1 id`. */
  line: string;
  /** What we do. */
  what: string;
  tests: { file: string; name: string }[];
}

/** Every row of every table in docs/SPEC.md, in order. A test is named as `` `test/a.test.ts` “its name” ``. */
export function readSpecTable(): SpecRow[] {
  const text = readFileSync(new URL('../../docs/SPEC.md', import.meta.url), 'utf8');
  return text
    .split('\n')
    .filter((line) => /^\| *\d/.test(line))
    .map((line) => {
      const [, label = '', what = '', tests = ''] = line.split(/(?<!\\)\|/).map((cell) => cell.trim());
      return {
        line: label.replaceAll('`', ''),
        what,
        tests: [...tests.matchAll(/`(test\/[^`]+\.test\.ts)` “([^”]+)”/g)].map(([, file = '', name = '']) => ({
          file,
          name,
        })),
      };
    });
}
