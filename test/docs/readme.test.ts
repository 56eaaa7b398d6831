import { describe, expect, it } from '@jest/globals';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { settings } from '../../src/config/load-config.ts';

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

describe('the README', () => {
  it('names every environment variable that the configuration reads, and no other', () => {
    const wanted = settings.map(({ name }) => name);
    const table = read('README.md').split('### Environment')[1]?.split('\n## ')[0] ?? '';
    const told = [...table.matchAll(/^\|([^|]+)\|/gm)].flatMap(([, cell]) =>
      [...(cell ?? '').matchAll(/`([A-Z][A-Z0-9_]+)`/g)].map(([, name]) => name ?? ''),
    );
    expect([...new Set(told)].sort()).toEqual([...new Set(wanted)].sort());
  });

  it('points at every other document', () => {
    const documents = readdirSync(new URL('../../docs', import.meta.url)).map((name) => `docs/${name}`);
    expect(documents.filter((path) => !read('README.md').includes(`](${path})`))).toEqual([]);
  });
});

describe('the rules', () => {
  it('have every section that the code names', () => {
    const headings = [...read('docs/RULES.md').matchAll(/^#+ (.+)$/gm)].map(([, heading]) => heading);
    const sources = ['src', 'test'].flatMap((folder) =>
      readdirSync(new URL(`../../${folder}`, import.meta.url), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts'))
        .map((name) => `${folder}/${name}`),
    );
    const named = sources.flatMap((path) =>
      [...read(path).matchAll(/\brules "([^"\n]+)"/g)].map(([, section]) => section),
    );
    expect(named.length).toBeGreaterThan(30);
    expect(named.filter((section) => !headings.includes(section))).toEqual([]);
  });
});

describe('the documents', () => {
  const documents = ['README.md', ...readdirSync(new URL('../../docs', import.meta.url)).map((name) => `docs/${name}`)];

  it('point at files that exist', () => {
    for (const document of documents) {
      const folder = new URL(`../../${document}`, import.meta.url);
      const links = [...read(document).matchAll(/\]\((?!https?:)([^)#]+)\)/g)].map(([, path]) => path ?? '');
      for (const link of links)
        expect([document, link, existsSync(new URL(link, folder))]).toEqual([document, link, true]);
    }
  });
});
