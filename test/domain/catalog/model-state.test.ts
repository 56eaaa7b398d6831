import { expect, it } from '@jest/globals';
import type { CatalogEntry } from '../../../src/domain/catalog/catalog.ts';
import { modelState } from '../../../src/domain/catalog/model-state.ts';
import { isOffered } from '../../../src/domain/catalog/model-list.ts';

const day = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);

it.each([
  ['active', { public: true }, 'active', true],
  ['active', { public: false }, 'hidden', false],
  ['active', { public: true, ends_on: day(1) }, 'ending', true],
  ['active', { public: true, ends_on: day(0) }, 'retired', false],
  ['active', { public: false, ends_on: day(1) }, 'hidden', false],
  ['active', { public: false, ends_on: day(-1) }, 'retired', false],
  ['deprecated', { public: true }, 'ending', false],
  ['deprecated', { public: true, ends_on: day(-1) }, 'retired', false],
  ['inactive', { public: true }, 'inactive', false],
  ['inactive', { public: true, ends_on: day(1) }, 'inactive', false],
  ['inactive', { public: true, retired: 'The vendor withdrew it.' }, 'retired', false],
  ['inactive', { public: false, retired: 'The vendor withdrew it.' }, 'retired', false],
] as const)('a model with status %s and %j is %s, and clients may use it: %s', (status, hidden, state, offered) => {
  expect(modelState({ status }, hidden)).toBe(state);
  expect(isOffered({ model: { status }, private: hidden } as unknown as CatalogEntry)).toBe(offered);
});
