import { expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { settings } from '../../src/config/load-config.ts';

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

it('docs/CONFIGURATION.md names every environment variable that the configuration reads, and no other', () => {
  const wanted = settings.map(({ name }) => name);
  const told = [...read('docs/CONFIGURATION.md').matchAll(/^\|([^|]+)\|/gm)].flatMap(([, cell]) =>
    [...(cell ?? '').matchAll(/`([A-Z][A-Z0-9_]+)`/g)].map(([, name]) => name ?? ''),
  );
  expect([...new Set(told)].sort()).toEqual([...new Set(wanted)].sort());
});
