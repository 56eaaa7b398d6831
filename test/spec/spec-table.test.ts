import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { specLines } from './spec-lines.ts';
import { specTable, testsByLine } from './spec-table.ts';

describe('docs/SPEC.md', () => {
  it('has a test for every line of the specification', () => {
    const tests = testsByLine();

    expect(Object.keys(specLines).filter((line) => !tests.has(line))).toEqual([]);
  });

  it('says in a sentence what Tollgate does about each line', () => {
    for (const [line, what] of Object.entries(specLines)) {
      expect({ line, what }).toEqual({ line, what: expect.stringMatching(/\w.{4,}\.$/) });
    }
  });

  it('is what `npm run docs:spec` writes', () => {
    const document = readFileSync(new URL('../../docs/SPEC.md', import.meta.url), 'utf8');

    expect(document).toBe(specTable());
  });
});
