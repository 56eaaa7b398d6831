import { describe, expect, it } from '@jest/globals';
import { launch } from '../../../packages/dev-stack/src/processes/launch.ts';
import { eventually } from '../../support/eventually.ts';

/** The lines that a program with this text passes on, once it has written the last one. */
async function linesOf(program: string, isLast: (line: string) => boolean): Promise<string[]> {
  const lines: string[] = [];
  const launched = await launch({
    command: process.execPath,
    args: ['-e', program],
    env: {},
    onLine: (line) => lines.push(line),
    stopSignal: 'SIGTERM',
    graceSeconds: 5,
  });
  await launched.exited;
  await eventually(() => Promise.resolve(lines.some(isLast)));
  return lines;
}

describe('the output of a launched program', () => {
  it('is passed on line by line, also the last line without its end', async () => {
    const lines = await linesOf(`process.stdout.write('one\\n\\ntwo\\nthree')`, (line) => line === 'three');
    expect(lines).toEqual(['one', '', 'two', 'three']);
  });

  it('has the beginning of a line that is too long, and the whole next one', async () => {
    const parts = `'a'.repeat(60_000), 'b'.repeat(60_000), 'c'.repeat(60_000), '\\nnext\\n'`;
    const program = `for (const part of [${parts}]) process.stdout.write(part)`;
    const lines = await linesOf(program, (line) => line === 'next');
    expect(lines).toEqual([`${'a'.repeat(60_000)}${'b'.repeat(5_536)}`, 'next']);
  });
});
