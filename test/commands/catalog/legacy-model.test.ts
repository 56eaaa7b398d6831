import { describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import { findModelFor } from '../../../src/commands/catalog/find-model.ts';
import { findLegacyModelFor } from '../../../src/commands/catalog/legacy-model.ts';
import { parseCatalog } from '../../../src/commands/catalog/load-catalog.ts';

const model = (id: string, more: object, hidden: object) => ({
  ...{ id, type: 'image', owned_by: 'acme', display_name: id, group: 'Pic', capability: 'image', description: null },
  ...{ status: 'active', pricing: { credits_per_request: 4 }, parameters: { prompt: true }, ...more },
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
const catalog = {
  entries: () => Promise.resolve(entries),
  find: (id: string) => Promise.resolve(entries.find((entry) => entry.model.id === id) ?? null),
  findAlias: (alias: string) =>
    Promise.resolve(alias in (entries[1]?.private.aliases ?? {}) ? { modelId: 'pic-2', preset: {} } : null),
  forget: () => undefined,
};

describe('the id of a retired model', () => {
  const anyModel = { models: null };

  it('means its successor on the legacy routes, if the key may use the successor', async () => {
    const { entry } = await findLegacyModelFor({ catalog }, 'pic-1', anyModel);
    expect(entry.model.id).toBe('pic-2');
    await expect(findLegacyModelFor({ catalog }, 'pic-1', { models: ['pic-1'] })).rejects.toMatchObject({
      code: 'model_not_allowed',
    });
  });

  it('is unknown on the core routes', async () => {
    await expect(findModelFor({ catalog }, 'pic-1', anyModel)).rejects.toMatchObject({ code: 'model_not_found' });
  });
});
