import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';

const folder = new URL('./fixtures/', import.meta.url);

describe('the saved replies', () => {
  it('say for each family where they come from and what they were compared with', () => {
    const families = readdirSync(folder, { withFileTypes: true }).flatMap((each) =>
      each.isDirectory() ? [each.name] : [],
    );
    const rows = readFileSync(new URL('README.md', folder), 'utf8').matchAll(/^\| `([a-z-]+)` *\| \S.* \| \S.* \|$/gm);
    expect([...rows].map(([, family]) => family)).toEqual(families.sort());
  });
});
