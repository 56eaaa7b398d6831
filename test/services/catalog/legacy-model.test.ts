import { describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import { checkCatalogNames } from '../../../src/services/catalog/check-catalog-entry.ts';
import { findModelFor } from '../../../src/services/catalog/find-model.ts';
import { findLegacyModelFor } from '../../../src/services/catalog/legacy-model.ts';
import { loadCatalog, parseCatalog } from '../../../src/services/catalog/load-catalog.ts';
import type { CatalogEntry } from '../../../src/domain/catalog/catalog.ts';
import { allNamesOf } from '../../../src/domain/catalog/model-names.ts';

const model = (id: string, more: object, hidden: object) => ({
  id,
  type: 'image',
  owned_by: 'acme',
  display_name: id,
  group: 'Pic',
  capability: 'image',
  description: null,
  status: 'active',
  pricing: { credits_per_request: 4 },
  parameters: { prompt: true },
  ...more,
  private: { groups: ['images'], upstream: { fal: { model: 'pic', cost: { per_request: 1 } } }, ...hidden },
});
const { entries } = parseCatalog(
  stringify({
    models: [
      model('pic-1', { status: 'inactive' }, { retired: 'replaced by pic-2', upstream: {} }),
      model('pic-2', {}, { aliases: { 'pic-1': {} } }),
    ],
  }),
);
const { entries: shipped } = await loadCatalog('catalog');
const priced = {
  entries: () => Promise.resolve(entries),
  find: (id: string) => Promise.resolve(entries.find((entry) => entry.model.id === id) ?? null),
  findAlias: (alias: string) =>
    Promise.resolve(alias in (entries[1]?.private.aliases ?? {}) ? { modelId: 'pic-2', preset: {} } : null),
};
const catalog = { ...priced, under: () => priced, forget: () => undefined };

describe('the aliases of a catalog', () => {
  const namesAfter = (change: (entries: CatalogEntry[]) => void) => {
    const changed = structuredClone(shipped);
    change(changed);
    return checkCatalogNames(changed).map(({ model, message }) => `${model} ${message}`);
  };
  const chat = (from: CatalogEntry[], id: string): Record<string, object> =>
    from.find(({ model }) => model.id === id)?.private.aliases ?? {};

  it('are names of one model each, also those of chat models', () => {
    expect(namesAfter(() => undefined)).toEqual([]);
    expect(namesAfter((all) => Object.assign(chat(all, 'gpt-5-mini'), { 'gpt-6-luna': {} }))).toEqual([
      'gpt-5-mini is also the id of a model',
    ]);
    expect(namesAfter((all) => Object.assign(chat(all, 'gpt-5-mini'), { 'claude-opus-5-5': {} }))).toEqual([
      'gpt-5-mini is an alias of two models',
    ]);
    expect(namesAfter((all) => Object.assign(chat(all, 'gpt-5-mini'), { 'gpt-image-1': {} }))).toEqual([
      expect.stringMatching(/ is an alias of two models$/),
    ]);
  });

  it.each([
    'claude-opus-5-5',
    'claude-sonnet-4-5-20250929',
    'claude-haiku-4-5-20251001',
    'gemini-3.1-pro-preview',
    'gpt-5.4-nano',
    'gpt-5-nano',
    'gpt-5.6-sol',
    'coder-model',
    'gpt-4o-mini',
    'anthropic/claude-sonnet-5.5',
    'openai/gpt-5-mini',
  ])('have %s, for which a program asks if nobody names a model', (name) => {
    expect(shipped.filter((entry) => allNamesOf(entry).includes(name)).map(({ model }) => model.type)).toEqual([
      'chat',
    ]);
  });

  it('have dashes for the dots of every chat model', () => {
    for (const entry of shipped.filter(({ model }) => model.type === 'chat'))
      expect(allNamesOf(entry)).toContain(entry.model.id.replaceAll('.', '-'));
  });
});

describe('the id of a retired model', () => {
  const anyModel = { models: null, plan: null };

  it('means its successor on the legacy routes, if the key may use the successor', async () => {
    const { entry } = await findLegacyModelFor({ catalog }, 'pic-1', anyModel);
    expect(entry.model.id).toBe('pic-2');
    await expect(findLegacyModelFor({ catalog }, 'pic-1', { models: ['pic-1'], plan: null })).rejects.toMatchObject({
      code: 'model_not_allowed',
    });
  });

  it('is unknown on the core routes', async () => {
    await expect(findModelFor({ catalog }, 'pic-1', anyModel)).rejects.toMatchObject({ code: 'model_not_found' });
  });
});
