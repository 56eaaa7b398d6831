import { describe, expect, it } from '@jest/globals';
import { unlistedNames } from '../../../src/domain/catalog/listed-models.ts';

const lacks = (model: string, ...listed: string[]) => unlistedNames({ model }, new Set(listed));

describe('unlistedNames', () => {
  it('returns a name that the list lacks', () => {
    expect(lacks('gpt-misspelt', 'gpt-5', 'gpt-5-mini')).toEqual(['gpt-misspelt']);
    expect(lacks('gpt-5', 'gpt-5-mini')).toEqual(['gpt-5']);
    expect(lacks('gpt-5', 'gpt-5')).toEqual([]);
  });

  it('accepts an alias of a listed name with a date, and an alias that ends in latest', () => {
    expect(lacks('claude-x', 'claude-x-20261001')).toEqual([]);
    expect(lacks('gpt-x', 'gpt-x-2026-10-01')).toEqual([]);
    expect(lacks('grok-x', 'grok-x-0709')).toEqual([]);
    expect(lacks('model-x-latest', 'model-x-2')).toEqual([]);
    expect(lacks('model-x-latest', 'model-x')).toEqual([]);
    expect(lacks('model-x-latest', 'model-y')).toEqual(['model-x-latest']);
    expect(lacks('model-x-latest', 'model-xl')).toEqual(['model-x-latest']);
  });

  it('accepts a variant after a colon of a listed name', () => {
    expect(lacks('vendor/model:nitro', 'vendor/model')).toEqual([]);
  });

  it('checks every name that a parameter may choose', () => {
    const mapping = { model: 'kind', model_by: { key: 'mode', values: { a: 'kind-fast', b: 'kind' } } };
    expect(unlistedNames(mapping, new Set(['kind']))).toEqual(['kind-fast']);
  });
});
