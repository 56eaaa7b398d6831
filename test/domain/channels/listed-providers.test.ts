import { expect, it } from '@jest/globals';
import { adapterFamilies } from '../../../src/adapters/registry.ts';
import { listedProviders } from '../../../src/domain/channels/listed-providers.ts';

it('the listed providers have every adapter family, names of their own, and addresses without a slash at the end', () => {
  expect([...new Set(listedProviders.map(({ family }) => family))].sort()).toEqual(Object.keys(adapterFamilies).sort());
  expect(new Set(listedProviders.map(({ name }) => name)).size).toBe(listedProviders.length);
  for (const { baseUrl } of listedProviders) expect(baseUrl).toMatch(/^$|^https:\/\/.*[^/]$/);
});
