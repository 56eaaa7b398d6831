import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

describe('the README', () => {
  it('names every environment variable that the configuration reads, and no other', () => {
    const wanted = [...read('src/config.ts').matchAll(/^ {2}([A-Z][A-Z0-9_]+):/gm)].map(([, name]) => name ?? '');
    const table = read('README.md').split('### Environment')[1]?.split('\n## ')[0] ?? '';
    const told = [...table.matchAll(/^\|([^|]+)\|/gm)].flatMap(([, cell]) =>
      [...(cell ?? '').matchAll(/`([A-Z][A-Z0-9_]+)`/g)].map(([, name]) => name ?? ''),
    );
    expect([...new Set(told)].sort()).toEqual([...new Set(wanted)].sort());
  });

  it('points at files that exist', () => {
    const links = [...read('README.md').matchAll(/\]\((docs\/[^)#]+)\)/g)].map(([, path]) => path ?? '');
    expect(links.length).toBeGreaterThan(0);
    for (const path of links) expect(() => read(path)).not.toThrow();
  });
});
