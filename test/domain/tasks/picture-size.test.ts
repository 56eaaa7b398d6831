import { describe, expect, it } from '@jest/globals';
import { loadCatalog } from '../../../src/services/catalog/load-catalog.ts';
import type { CatalogEntry } from '../../../src/domain/catalog/catalog.ts';
import { clipSize, pictureSize } from '../../../src/domain/tasks/picture-size.ts';

const { entries } = await loadCatalog('catalog');
const entryOf = (id: string): CatalogEntry => {
  const entry = entries.find(({ model }) => model.id === id);
  if (!entry) throw new Error(`there is no ${id}`);
  return entry;
};
const aurora = entryOf('aurora-image-1');

describe("OpenAI's size of a picture", () => {
  it.each([
    ['1024x1024', { aspect_ratio: '1:1', img_size: '1k' }],
    ['1280x960', { aspect_ratio: '4:3', img_size: '1k' }],
    ['1792x1024', { aspect_ratio: '16:9', img_size: '1k' }],
    ['1024x1792', { aspect_ratio: '9:16', img_size: '1k' }],
    ['1920x1080', { aspect_ratio: '16:9', img_size: '2k' }],
    ['2048x2048', { aspect_ratio: '1:1', img_size: '2k' }],
    ['2560x1440', { aspect_ratio: '16:9', img_size: '2k' }],
    ['3840x2160', { aspect_ratio: '16:9', img_size: '4k' }],
    ['256x256', { aspect_ratio: '1:1', img_size: '1k' }],
    ['512x512', { aspect_ratio: '1:1', img_size: '1k' }],
    ['1536x1024', { aspect_ratio: '4:3', img_size: '1k' }],
    ['1024x1536', { aspect_ratio: '3:4', img_size: '1k' }],
    ['2k', { img_size: '2k' }],
    ['2K', { img_size: '2k' }],
    ['16:9', { aspect_ratio: '16:9' }],
    ['auto', {}],
  ])('%s becomes the aspect ratio and the class with about as many pixels', (size, parameters) => {
    expect(pictureSize(aurora, size)).toEqual(parameters);
  });

  it.each(['300x200', '8192x8192', '1024', '1024x', '0x1024', 'big'])(
    '%s is refused by a model that does not make it, which says what it makes',
    (size) => {
      expect(() => pictureSize(aurora, size)).toThrow(
        expect.objectContaining({
          code: 'invalid_value',
          param: 'size',
          message:
            `size: the model does not make "${size}". It makes the aspect ratios 1:1, 16:9, 9:16, 4:3, 3:4 in the sizes 1k, 2k, 4k.`.replaceAll(
              '"',
              '',
            ),
        }),
      );
    },
  );

  it('is the most similar aspect ratio also of a model that can choose it itself, wherever that word stands', () => {
    const { model } = aurora;
    for (const aspect_ratio of [
      ['auto', '1:1', '4:3'],
      ['1:1', 'auto', '4:3'],
      ['4:3', '1:1', 'auto'],
    ]) {
      const entry = { ...aurora, model: { ...model, parameters: { ...model.parameters, aspect_ratio } } };
      expect(pictureSize(entry, '1536x1024')).toEqual({ aspect_ratio: '4:3', img_size: '1k' });
    }
  });

  it('is only an aspect ratio for a model with one size of each', () => {
    expect(pictureSize(entryOf('flux-2-pro'), '1280x720')).toEqual({ aspect_ratio: '16:9' });
    expect(pictureSize(entryOf('ideogram-4'), '1024x1024')).toEqual({ aspect_ratio: '1:1' });
  });

  it('is passed on to a model that has a size of its own', () => {
    const { model } = aurora;
    const fields = [{ key: 'size', label: 'Size', type: 'enum' as const, options: ['1536x1024'] }];
    const own = { ...aurora, model: { ...model, parameters: { ...model.parameters, fields } } };
    expect(pictureSize(own, '1536x1024')).toEqual({ size: '1536x1024' });
  });

  it.each(['256x256', '512x512', '1024x1024', '1536x1024', '1024x1536', '1792x1024', '1024x1792'])(
    '%s is made by every image model with aspect ratios, or the most similar in its smallest size',
    (size) => {
      for (const entry of entries) {
        const { type, parameters } = entry.model;
        if (type !== 'image' || parameters.aspect_ratio === undefined) continue;
        const made = pictureSize(entry, size);
        expect([entry.model.id, parameters.aspect_ratio]).toEqual([
          entry.model.id,
          expect.arrayContaining([made['aspect_ratio']]),
        ]);
      }
    },
  );

  it('is refused by a model without sizes', () => {
    expect(() => pictureSize(entryOf('stable-diffusion-3.5'), '1024x1024')).toThrow(/leave it out/);
  });
});

describe("OpenAI's size of a clip", () => {
  it.each([
    ['veo-3.1', '1280x720', { aspect_ratio: '16:9', resolution: '720p' }],
    ['veo-3.1', '1080x1920', { aspect_ratio: '9:16', resolution: '1080p' }],
    ['kling-3', '1280x720', { aspect_ratio: '16:9' }],
    ['hailuo-3', '720x1280', { aspect_ratio: '9:16' }],
  ])('of %s becomes the aspect ratio and the resolution: %s', (id, size, parameters) => {
    expect(clipSize(entryOf(id), size)).toEqual(parameters);
  });

  it('is a class that is named by its longer edge', () => {
    const veo = entryOf('veo-3.1');
    const parameters = { ...veo.model.parameters, resolution: ['720p', '2k', '4K'] };
    const entry = { ...veo, model: { ...veo.model, parameters } };
    expect(clipSize(entry, '3840x2160')).toEqual({ aspect_ratio: '16:9', resolution: '4K' });
    expect(clipSize(entry, '1440x2560')).toEqual({ aspect_ratio: '9:16', resolution: '2k' });
  });

  it.each(['854x480', '1024x1792', '720x720'])('is refused by a model that does not make %s', (size) => {
    expect(() => clipSize(entryOf('veo-3.1'), size)).toThrow(expect.objectContaining({ param: 'size' }));
  });
});
