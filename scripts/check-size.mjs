/**
 * Holds the size of `src`, in lines of TypeScript. Run by `npm run check`. Who needs more says in docs/DECISIONS.md (record 65) what is worth it.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const LINES_MAX = 75_840;

const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '--deduplicate', 'src'], {
  encoding: 'utf8',
})
  .trim()
  .split('\n')
  .filter((file) => file.endsWith('.ts'));
const lines = files.reduce((sum, file) => sum + readFileSync(file, 'utf8').split('\n').length - 1, 0);
if (lines > LINES_MAX) {
  console.error(
    `src has ${lines} lines of TypeScript, and at most ${LINES_MAX} are allowed (docs/DECISIONS.md, record 65).`,
  );
  process.exitCode = 1;
}
