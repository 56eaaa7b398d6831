import { describe, expect, it } from '@jest/globals';
import { loadCatalog } from '../../../src/services/catalog/load-catalog.ts';
import type { CatalogEntry, UpstreamMapping } from '../../../src/domain/catalog/catalog.ts';
import { GatewayError } from '../../../src/domain/errors.ts';
import { assertMade, canMake, isMade } from '../../../src/domain/tasks/offered-requests.ts';
import { offeredCombinations } from '../../../src/domain/tasks/offered-combinations.ts';

const { entries } = await loadCatalog('catalog');
const entryWith = (upstream: Record<string, Partial<UpstreamMapping>>): CatalogEntry => {
  const entry = entries.find(({ model }) => model.id === 'veo-3.1');
  const mapping = entry?.private.upstream['fal'];
  if (!entry || !mapping) throw new Error('no veo-3.1 at fal');
  const { refuses: _, ...open } = mapping;
  const mappings = Object.entries(upstream).map(([family, more]) => [family, { ...open, ...more }] as const);
  return { ...entry, private: { ...entry.private, upstream: Object.fromEntries(mappings) } };
};
const refusalOf = (entry: CatalogEntry, input: Record<string, string | string[]>) => {
  try {
    assertMade(entry, input);
    return null;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return { code: error.code, param: error.param, message: error.message };
  }
};
const both = { image: 'file_1', reference_images: ['file_2'] };
const exclusive = { refuses: [{ image: true, reference_images: true }] };

describe('a request that a family does not take', () => {
  it('goes to the families that take it', () => {
    const entry = entryWith({ fal: exclusive, gemini: {} });
    expect(isMade(entry, both)).toBe(true);
    expect(refusalOf(entry, both)).toBeNull();
    expect(canMake(exclusive, both)).toBe(false);
    expect(canMake(exclusive, { image: 'file_1' })).toBe(true);
  });

  it('is refused with the fields that exclude each other if no family takes it', () => {
    expect(refusalOf(entryWith({ fal: exclusive, gemini: exclusive }), both)).toEqual({
      code: 'unsupported_parameter',
      param: 'image',
      message: 'image cannot be combined with reference_images for the model veo-3.1.',
    });
    const lite = { refuses: [{ veo31_variant: 'lite', image: true }] };
    expect(refusalOf(entryWith({ fal: lite }), { veo31_variant: 'lite', image: 'file_1' })).toMatchObject({
      param: 'image',
      message: 'image cannot be combined with veo31_variant "lite" for the model veo-3.1.',
    });
  });

  it('is refused with the value that no family offers together with the others', () => {
    const entry = entryWith({ fal: { only: { resolution: ['720p'] } }, gemini: { only: { aspect_ratio: ['16:9'] } } });
    expect(refusalOf(entry, { resolution: '720p', aspect_ratio: '9:16' })).toBeNull();
    expect(refusalOf(entry, { resolution: '1080p', aspect_ratio: '9:16' })).toMatchObject({
      code: 'invalid_value',
      param: 'resolution',
    });
  });

  it('needs no cost', () => {
    const entry = entryWith({ fal: {} });
    const combinations = offeredCombinations(entry, exclusive, ['image']) ?? [];
    expect(combinations.map((combination) => Object.keys(combination))).toEqual([[], ['reference_images'], ['image']]);
  });
});
