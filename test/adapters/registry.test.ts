import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from '@jest/globals';
import { createUpstreamCaller } from '../../src/adapters/upstream/call-upstream.ts';
import { adapterFamilies, createAdapters, documentFamilies, passingFamilies } from '../../src/adapters/registry.ts';
import { loadCatalog } from '../../src/services/catalog/load-catalog.ts';
import { families } from '../../packages/sandbox/src/families.ts';

const caller = createUpstreamCaller();
afterAll(() => caller.close());
const adapters = createAdapters(caller);
const here = new URL('./', import.meta.url);
const tests = readdirSync(here, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.ts'))
  .map((name) => readFileSync(new URL(name, here), 'utf8'));

describe('every provider family', () => {
  it('is served by the sandbox, and the sandbox serves no other', () => {
    expect(Object.keys(families).sort()).toEqual(Object.keys(adapterFamilies).sort());
  });

  it('that passes fields through is named for the catalog', () => {
    const passing = Object.entries(adapters).filter(([, { chatSupports }]) => chatSupports?.extra === true);
    expect(passing.map(([family]) => family)).toEqual(passingFamilies);
  });

  it('that sends documents is named for the catalog', () => {
    const sending = Object.entries(adapters).filter(([, { chatSupports }]) => chatSupports?.documents);
    expect(sending.map(([family]) => family).sort()).toEqual([...documentFamilies].sort());
  });

  it.each(Object.entries(adapters))(
    'passes the contract suites of its methods with saved replies: %s',
    (family, adapter) => {
      const runs = (suite: string) => tests.some((text) => text.includes(`${suite}({\n  family: '${family}',`));
      expect({ chat: runs('chatAdapterSuite'), media: runs('mediaAdapterSuite') }).toEqual({
        chat: 'chat' in adapter,
        media: 'submitMedia' in adapter,
      });
      expect(existsSync(new URL(`fixtures/${family}/`, here))).toBe(true);
      expect('pollMedia' in adapter).toBe('submitMedia' in adapter);
    },
  );

  it.each(Object.keys(adapters))('names its documentation and the date when it was read: %s', (family) => {
    const file = new URL(`../../src/adapters/${family}.ts`, import.meta.url);
    expect(readFileSync(file, 'utf8')).toMatch(/read on \d{4}-\d{2}-\d{2}/i);
  });

  it('serves a model of the shipped catalog', async () => {
    const { entries } = await loadCatalog(new URL('../../catalog', import.meta.url).pathname);
    const served = new Set(entries.flatMap((entry) => Object.keys(entry.private.upstream)));
    expect([...served].sort()).toEqual(Object.keys(adapterFamilies).sort());
  });
});
