import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { loadCatalog } from '../../../src/services/catalog/load-catalog.ts';
import { GatewayError } from '../../../src/domain/errors.ts';
import { resolveMediaRequest } from '../../../src/domain/catalog/parameters.ts';
import { readOpenaiEdit, readOpenaiImage, toCoreOpenaiImage } from '../../../src/http/dialects/openai/openai-image.ts';
import { readOpenaiVideo, toCoreOpenaiVideo } from '../../../src/http/dialects/openai/openai-video-request.ts';

const { entries } = await loadCatalog('catalog');
const request = { model: 'aurora-image-1', prompt: 'a fox' };
const png = 'data:image/png;base64,AAAA';

/** The request as it is priced and sent, or its refusal. */
function resolve(body: Record<string, unknown>, read = readOpenaiImage) {
  const entry = entries.find(({ model }) => model.id === (body['model'] ?? request.model));
  if (!entry) throw new Error('there is no such model');
  try {
    return resolveMediaRequest(entry, toCoreOpenaiImage(read({ ...request, ...body }), entry), { type: 'image' }).input;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return { code: error.code, param: error.param };
  }
}

describe('a request for pictures', () => {
  it('becomes the parameters of the catalog entry', () => {
    expect(resolve({ size: '1792x1024' })).toEqual({ prompt: 'a fox', img_size: '1k', aspect_ratio: '16:9' });
    expect(resolve({ img_size: '4k', negative_prompt: 'text' })).toEqual({
      prompt: 'a fox',
      img_size: '4k',
      aspect_ratio: '1:1',
      negative_prompt: 'text',
    });
  });

  it('may have values that change nothing', () => {
    const harmless = {
      n: 1,
      size: 'auto',
      quality: 'auto',
      background: 'auto',
      moderation: 'auto',
      stream: false,
      partial_images: 0,
      output_compression: 100,
      style: null,
      user: 'u1',
      safety_identifier: 'u2',
    };
    expect(resolve(harmless)).toEqual(resolve({}));
  });

  it('may have the settings of earlier models of OpenAI, which change nothing', () => {
    for (const more of [
      { quality: 'hd' },
      { quality: 'standard' },
      { style: 'vivid' },
      { style: 'natural' },
      { moderation: 'low' },
    ])
      expect(resolve(more)).toEqual(resolve({}));
  });

  it('may ask for base64 in the words of Together AI', () => {
    for (const [response_format, isInline] of [
      ['base64', true],
      ['b64_json', true],
      ['url', false],
    ])
      expect(readOpenaiImage({ ...request, response_format })).toMatchObject({ isInline });
  });

  it('may name what the catalog entry fixes, and nothing else, because that would be another price', () => {
    const model = 'gpt-image-2.5';
    expect(resolve({ model, quality: 'high', output_format: 'png' })).toEqual(resolve({ model }));
    expect(resolve({ model, quality: 'low' })).toEqual({ code: 'unsupported_parameter', param: 'quality' });
    expect(resolve({ model, output_format: 'webp' })).toEqual({
      code: 'unsupported_parameter',
      param: 'output_format',
    });
  });

  it.each([
    ['n', 2],
    ['quality', 'high'],
    ['background', 'transparent'],
    ['output_format', 'webp'],
    ['stream', true],
    ['partial_images', 2],
    ['style', 'cubist'],
    ['quality', 'low'],
  ])('is refused by a model without %s, under that name', (param, value) => {
    expect(resolve({ [param]: value })).toEqual({ code: 'unsupported_parameter', param });
  });

  it('is given to a model that has the field itself', () => {
    const [entry] = entries.filter(({ model }) => model.id === 'aurora-image-1');
    if (!entry) throw new Error('there is no such model');
    const fields = [
      { key: 'quality', label: 'Quality', type: 'enum' as const, options: ['low', 'high'] },
      { key: 'n', label: 'Pictures', type: 'number' as const, min: 1, max: 4, step: 1 },
    ];
    const rich = { ...entry, model: { ...entry.model, parameters: { ...entry.model.parameters, fields } } };
    const core = toCoreOpenaiImage(readOpenaiImage({ ...request, quality: 'high', n: 3 }), rich);
    expect(resolveMediaRequest(rich, core).input).toEqual({ prompt: 'a fox', quality: 'high', n: 3 });
  });

  it.each([
    [{ model: undefined }, 'missing_parameter', 'model'],
    [{ size: 1024 }, 'invalid_value', 'size'],
    [{ response_format: 'file' }, 'invalid_value', 'response_format'],
    [{ size: '1024x1024', img_size: '2k' }, 'invalid_value', 'size'],
  ])('is refused with the name of the wrong field: %j', (body, code, param) => {
    expect(() => {
      const [entry] = entries.filter(({ model }) => model.id === 'aurora-image-1');
      if (entry) toCoreOpenaiImage(readOpenaiImage({ ...request, ...body }), entry);
    }).toThrow(expect.objectContaining({ code, param }));
  });

  it('may say its size twice, if both say the same', () => {
    const size = { img_size: '1k', aspect_ratio: '1:1' };
    expect(resolve({ size: '1024x1024', ...size })).toMatchObject(size);
  });

  it('asks for base64 unless it says url', () => {
    expect(readOpenaiImage(request).isInline).toBe(true);
    expect(readOpenaiImage({ ...request, response_format: 'b64_json' }).isInline).toBe(true);
    expect(readOpenaiImage({ ...request, response_format: 'url' }).isInline).toBe(false);
  });

  it.each([true, false])('may have empty texts for absent fields, as a form must: strict %j', (isStrict) => {
    const empty = { size: '', response_format: '' };
    for (const read of [readOpenaiImage, readOpenaiEdit]) {
      const body = { ...request, image: png };
      expect(read({ ...body, ...empty }, { isStrict })).toEqual(read(body, { isStrict }));
    }
    const emptyOfVideos = { size: '', seconds: '', input_reference: '' };
    expect(readOpenaiVideo({ ...request, ...emptyOfVideos }, { isStrict })).toEqual(
      readOpenaiVideo(request, { isStrict }),
    );
  });

  it('either parses or throws a GatewayError for arbitrary JSON', () => {
    fc.assert(
      fc.property(fc.record({ size: fc.jsonValue(), image: fc.jsonValue(), images: fc.jsonValue() }), (more) => {
        for (const read of [readOpenaiImage, readOpenaiEdit]) expect(() => resolve(more, read)).not.toThrow();
      }),
    );
  });
});

describe('a request for a clip', () => {
  const core = (model: string, body: Record<string, unknown>) => {
    const entry = entries.find((one) => one.model.id === model);
    return entry && toCoreOpenaiVideo(readOpenaiVideo({ model, prompt: 'a fox', ...body }), entry);
  };

  it('may say its size, its length and its picture twice, if both say the same', () => {
    const twice = { resolution: '1080p', aspect_ratio: '16:9', duration: 8, image: png };
    expect(core('veo-3.1', { size: '1920x1080', seconds: '8', input_reference: png, ...twice })).toMatchObject(twice);
    expect(() => core('veo-3.1', { size: '1920x1080', resolution: '720p' })).toThrow('size cannot be combined');
    expect(() => core('veo-3.1', { seconds: '8', duration: 6 })).toThrow('seconds cannot be combined');
  });

  it('takes pictures as a list, as many as its model does', () => {
    expect(core('veo-3.1', { input_reference: [png] })).toMatchObject({ image: png });
    expect(core('veo-3.1', { input_reference: [{ image_url: png }] })).toMatchObject({ image: png });
    expect(core('veo-3.1', { input_reference: [] })).toEqual(core('veo-3.1', {}));
  });
});

describe('an edit of pictures', () => {
  const edit = (body: Record<string, unknown>) => resolve(body, readOpenaiEdit);

  it('gives the first picture as image and the others as reference_images', () => {
    expect(edit({ image: png })).toMatchObject({ image: png });
    expect(edit({ image: [png, `${png}B`] })).toMatchObject({ image: png, reference_images: [`${png}B`] });
    expect(edit({ model: 'nano-banana-2', image: [png] })).toMatchObject({ reference_images: [png] });
    // xAI's form, as the AI SDK sends it.
    const ofXai = { url: png, type: 'image_url' };
    for (const fields of [{ image: ofXai }, { image: [ofXai] }, { images: [ofXai] }])
      expect(edit(fields)).toMatchObject({ image: png });
    expect(edit({ images: [{ image_url: png }, { file_id: 'file_1' }] })).toMatchObject({
      image: png,
      reference_images: ['file_1'],
    });
  });

  it.each([
    [{}, 'missing_parameter', 'image'],
    [{ image: [] }, 'missing_parameter', 'image'],
    [{ image: 7 }, 'invalid_value', 'image'],
    [{ images: [{}] }, 'invalid_value', 'images.0'],
    [{ image: png, mask: png }, 'unsupported_parameter', 'mask'],
    [{ model: 'flux-2-pro', image: png }, 'unsupported_parameter', 'image'],
    [{ model: 'gpt-image-2.5', image: [png, png] }, 'invalid_value', 'image'],
    [{ image: png, reference_images: [png] }, undefined, undefined],
    [{ image: [png, png], reference_images: [png] }, 'invalid_value', 'image'],
  ])('is refused with the name of the wrong field: %j', (body, code, param) => {
    const { code: refusedAs, param: named } = edit(body) as { code?: string; param?: string };
    expect([refusedAs, named]).toEqual([code, param]);
  });
});
