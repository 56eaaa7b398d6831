import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectFolder } from '../support/program.ts';

const heading = '## Not in the console';

/** What docs/CLI.md says that the command line can do and the console cannot, with the reason for each. */
export function notInTheConsole(): Record<string, string> {
  const text = readFileSync(join(projectFolder, 'docs', 'CLI.md'), 'utf8');
  const [section = ''] = (text.split(`\n${heading}\n`)[1] ?? '').split('\n## ');
  const rows = section.matchAll(/^\| `([^`]+)` +\| (.+?) +\|$/gm);
  return Object.fromEntries([...rows].map(([, command = '', why = '']) => [command, why]));
}
