import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectFolder } from '../support/program.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-hook-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const longest = 'x'.repeat(72);
const tooLong = 'x'.repeat(73);

/** What the hook says to a message, as git calls it: with the file that has the message. Null if it lets the message pass. */
function refusalOf(message: string): string | null {
  const file = join(folder, 'COMMIT_EDITMSG');
  writeFileSync(file, message);
  const hook = join(projectFolder, 'scripts/hooks/commit-msg');
  // A caller without a locale counts bytes.
  const { status, stderr } = spawnSync(hook, [file], {
    cwd: folder,
    encoding: 'utf8',
    env: { PATH: process.env.PATH },
  });
  return status === 0 ? null : stderr;
}

describe('scripts/hooks/commit-msg', () => {
  it.each([
    ['a subject of 72 characters', longest],
    ['a short subject with a long body', `Short\n\n${tooLong}\n`],
    ['72 characters of two bytes', 'é'.repeat(72)],
    ['a subject with spaces at its end, which git takes away', `${longest}   \n`],
    ['a long comment before the subject', `# ${tooLong}\nShort\n`],
    ['nothing', ''],
    ['a commit that is folded into another', `fixup! ${tooLong}`],
    ['a merge', `Merge ${tooLong}`],
  ])('lets %s pass', (_, message) => {
    expect(refusalOf(message)).toBeNull();
  });

  it.each([
    ['alone', tooLong],
    ['with a body', `${tooLong}\n\nbody\n`],
    ['after an empty line', `\n${tooLong}\n`],
    ['after lines of spaces', ` \n\t\n\n${tooLong}\n`],
    ['after a comment', `# a comment\n${tooLong}\n`],
    ['after a comment and an empty line', `# a comment\n\n${tooLong}\n`],
  ])('refuses a subject of 73 characters: %s', (_, message) => {
    expect(refusalOf(message)).toBe(`The subject has 73 characters, at most 72 are allowed: ${tooLong}\n`);
  });
});
