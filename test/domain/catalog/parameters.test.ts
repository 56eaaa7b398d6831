import { beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { loadCatalog } from '../../../src/services/catalog/load-catalog.ts';
import type { CatalogEntry, Parameters, UpstreamMapping } from '../../../src/domain/catalog/catalog.ts';
import { errorTable, GatewayError } from '../../../src/domain/errors.ts';
import { modelList, publicModel } from '../../../src/domain/catalog/model-list.ts';
import {
  accepts,
  acceptedParameters,
  listValues,
  resolveMediaRequest,
} from '../../../src/domain/catalog/parameters.ts';
import type { AcceptedParameter, ResolveOptions } from '../../../src/domain/catalog/parameters.ts';
import { mediaCredits } from '../../../src/domain/ledger/pricing.ts';
import { taskSnapshot } from '../../../src/domain/tasks/task-snapshot.ts';
import { mapParameters, upstreamModel } from '../../../src/domain/catalog/upstream-parameters.ts';
import { spec } from '../../spec/spec.ts';

const entries = new Map<string, CatalogEntry>();
beforeAll(async () => {
  const catalog = await loadCatalog('catalog');
  for (const entry of catalog.entries) entries.set(entry.model.id, entry);
});

const entryOf = (id: string): CatalogEntry => {
  const entry = entries.get(id);
  if (entry === undefined) throw new Error(`The shipped catalog has no ${id}.`);
  return entry;
};

const resolve = (id: string, body: Record<string, unknown>, options?: ResolveOptions) =>
  resolveMediaRequest(entryOf(id), body, options).input;

/** The refusal of a request as `code param`, and its message. */
function refusal(run: () => unknown): { what: string; message: string } {
  try {
    run();
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return { what: `${error.code} ${error.param}`, message: error.message };
  }
  throw new Error('The request was accepted.');
}

describe('the parameters of a media request', () => {
  it('get every default of the catalog and keep the values of the request', () => {
    spec('2.3 defaults');
    expect(resolve('veo-3.1', { prompt: 'a fox', duration: 8, generate_audio: false })).toEqual({
      prompt: 'a fox',
      aspect_ratio: '16:9',
      duration: 8,
      resolution: '1080p',
      generate_audio: false,
      veo31_variant: 'fast',
    });
  });

  it('keep media inputs unchanged and pass each one to the URL check with its name', () => {
    const checked: string[] = [];
    const body = { prompt: 'a fox', image: 'file_1', reference_images: ['https://a.example/1.png', 'file_2'] };
    const input = resolve('aurora-image-1', body, { checkUrl: (value, param) => checked.push(`${param} ${value}`) });
    expect(input).toMatchObject({ image: 'file_1', reference_images: ['https://a.example/1.png', 'file_2'] });
    expect(checked).toEqual(['image file_1', 'reference_images https://a.example/1.png', 'reference_images file_2']);
  });

  it('ignore envelope fields and treat null in an optional field as absent', () => {
    const envelope = { model: 'aurora-image-1', callback_url: 'https://a.example' };
    const nulls = { img_size: null, image: null, audio_url: null, variant: null, negative_prompt: null };
    expect(resolve('aurora-image-1', { prompt: 'a fox', ...envelope, ...nulls })).toEqual({
      prompt: 'a fox',
      img_size: '1k',
      aspect_ratio: '1:1',
    });
  });

  const bad: [id: string, body: Record<string, unknown>, what: string][] = [
    ['aurora-image-1', { prompt: undefined }, 'missing_parameter prompt'],
    ['aurora-image-1', { prompt: null }, 'missing_parameter prompt'],
    ['aurora-image-1', { prompt: '' }, 'invalid_value prompt'],
    ['aurora-image-1', { prompt: ' \n\t ' }, 'invalid_value prompt'],
    ['aurora-image-1', { prompt: 7 }, 'invalid_value prompt'],
    ['aurora-image-1', { prompt: 'x'.repeat(10_001) }, 'invalid_value prompt'],
    ['aurora-image-1', { prompt: '🦊'.repeat(10_001) }, 'invalid_value prompt'],
    ['aurora-image-1', { negative_prompt: 'x'.repeat(10_001) }, 'invalid_value negative_prompt'],
    ['aurora-image-1', { negative_prompt: ['x'] }, 'invalid_value negative_prompt'],
    ['aurora-image-1', { img_size: '8k' }, 'invalid_value img_size'],
    ['aurora-image-1', { img_size: '1K' }, 'invalid_value img_size'],
    ['aurora-image-1', { img_size: 1024 }, 'invalid_value img_size'],
    ['aurora-image-1', { img_size: ['1k'] }, 'invalid_value img_size'],
    ['aurora-image-1', { aspect_ratio: '1:0' }, 'invalid_value aspect_ratio'],
    ['aurora-image-1', { duration: 5 }, 'unsupported_parameter duration'],
    ['aurora-image-1', { generate_audio: true }, 'unsupported_parameter generate_audio'],
    ['aurora-image-1', { variant: 'fast' }, 'unsupported_parameter variant'],
    ['aurora-image-1', { video_url: 'https://a.example/a.mp4' }, 'unsupported_parameter video_url'],
    ['aurora-image-1', { audio_url: 'https://a.example/a.mp3' }, 'unsupported_parameter audio_url'],
    ['flux-1.1-pro', { image: 'file_1' }, 'unsupported_parameter image'],
    ['flux-1.1-pro', { negative_prompt: 'blur' }, 'unsupported_parameter negative_prompt'],
    ['aurora-image-1', { steps: 50 }, 'unsupported_parameter steps'],
    ['aurora-image-1', { toString: 'x' }, 'unsupported_parameter toString'],
    ['aurora-image-1', { steps: null }, 'unsupported_parameter steps'],
    ['aurora-image-1', { image: 7 }, 'invalid_value image'],
    ['aurora-image-1', { image: '' }, 'invalid_value image'],
    ['aurora-image-1', { image: ['file_1'] }, 'invalid_value image'],
    ['aurora-image-1', { reference_images: 'file_1' }, 'invalid_value reference_images'],
    ['aurora-image-1', { reference_images: [] }, 'invalid_value reference_images'],
    ['aurora-image-1', { reference_images: Array(5).fill('file_1') }, 'invalid_value reference_images'],
    ['aurora-image-1', { reference_images: Array(50).fill('file_1') }, 'invalid_value reference_images'],
    ['aurora-image-1', { reference_images: [['file_1']] }, 'invalid_value reference_images'],
    ['aurora-image-1', { reference_images: ['file_1', null] }, 'invalid_value reference_images'],
    ['seedream-4', { img_size: '1k' }, 'invalid_value img_size'],
    ['veo-3.1', { duration: 7 }, 'invalid_value duration'],
    ['veo-3.1', { duration: '5' }, 'invalid_value duration'],
    ['veo-3.1', { duration: 5.5 }, 'invalid_value duration'],
    ['veo-3.1', { duration: 0 }, 'invalid_value duration'],
    ['veo-3.1', { duration: -5 }, 'invalid_value duration'],
    ['veo-3.1', { duration: 999 }, 'invalid_value duration'],
    ['veo-3.1', { resolution: '4k' }, 'invalid_value resolution'],
    ['veo-3.1', { generate_audio: 'true' }, 'invalid_value generate_audio'],
    ['veo-3.1', { generate_audio: 1 }, 'invalid_value generate_audio'],
    ['veo-3.1', { veo31_variant: 'Quality' }, 'invalid_value veo31_variant'],
    ['veo-3.1', { variant: 'turbo' }, 'invalid_value variant'],
    ['veo-3.1', { variant: 'fast', veo31_variant: 'lite' }, 'invalid_value variant'],
    ['seedance-2', { duration: 7 }, 'invalid_value duration'],
    ['seedance-2', { duration: 5.5 }, 'invalid_value duration'],
    ['seedance-2', { duration: 20 }, 'invalid_value duration'],
    ['seedance-2', { duration: 0 }, 'invalid_value duration'],
    ['ideogram-v3', { expand_prompt: 'yes' }, 'invalid_value expand_prompt'],
  ];
  it.each(bad.map(([id, body, what]) => ({ id, what, body, sent: JSON.stringify(body).slice(0, 60) })))(
    '$sent for $id are refused as $what',
    ({ id, body, what }) => {
      const { message, ...refused } = refusal(() => resolve(id, { prompt: 'a fox', ...body }));
      expect(refused.what).toBe(what);
      expect(message.length).toBeLessThan(400);
    },
  );

  it('are refused with the accepted values', () => {
    const list = refusal(() => resolve('aurora-image-1', { prompt: 'a fox', img_size: 1024 }));
    expect(list.message).toBe('img_size must be one of "1k", "2k", "4k", not 1024.');
    const range = refusal(() => resolve('seedance-2', { prompt: 'a fox', duration: '5' }));
    expect(range.message).toBe('duration must be a number from 5 to 15 in steps of 5, not "5".');
  });

  it('are quoted in errors with at most a hundred characters', () => {
    const long = 'z'.repeat(500);
    for (const body of [{ [long]: 1 }, { img_size: long }, { img_size: { [long]: long } }, { image: long }]) {
      try {
        resolve('aurora-image-1', { prompt: 'a fox', ...body });
      } catch (error) {
        const { message, param } = error instanceof GatewayError ? error : { message: long, param: long };
        expect(`${message}${param}`.match(/z/g)?.length ?? 0).toBeLessThanOrEqual(100);
      }
    }
  });

  it('may have a prompt of 10,000 characters, even if each is a surrogate pair', () => {
    expect(resolve('aurora-image-1', { prompt: '🦊'.repeat(10_000) }).prompt).toHaveLength(20_000);
  });

  it('may have values that the top-level array lists and the descriptor does not', () => {
    expect(resolve('seedream-5-lite', { prompt: 'a fox', img_size: '3k' })).toMatchObject({ img_size: '3k' });
    expect(resolve('wan-2.5', { prompt: 'a fox', resolution: '480p' })).toMatchObject({ resolution: '480p' });
  });

  it('may name the variant neutrally, and are stored with the vendor’s name', () => {
    spec('2.3 variant list');
    const input = resolve('veo-3.1', { prompt: 'a fox', variant: 'quality-4k' });
    expect(input).toMatchObject({ veo31_variant: 'quality-4k' });
    expect(input).not.toHaveProperty('variant');
    const both = { prompt: 'a fox', variant: 'lite', veo31_variant: 'lite' };
    expect(resolve('veo-3.1', both)).toMatchObject({ veo31_variant: 'lite' });
  });

  it('are refused if the type of the model does not match the route', () => {
    const wrongType = 'model_type_mismatch model';
    expect(refusal(() => resolve('veo-3.1', { prompt: 'a' }, { type: 'image' })).what).toBe(wrongType);
    expect(refusal(() => resolve('aurora-image-1', { prompt: 'a' }, { type: 'video' })).what).toBe(wrongType);
    expect(refusal(() => resolve('gpt-5-mini', { prompt: 'a' })).what).toBe(wrongType);
  });

  it('lose unsupported tuning on legacy routes, but an unsupported media input is refused', () => {
    const legacy: ResolveOptions = { dialect: 'legacy', type: 'image' };
    const tuning = {
      duration: 5,
      resolution: '720p',
      negative_prompt: 'blur',
      variant: 'fast',
      userId: 7,
      video_length: 5,
    };
    expect(resolve('flux-1.1-pro', { prompt: 'a fox', ...tuning }, legacy)).toEqual({
      prompt: 'a fox',
      aspect_ratio: '1:1',
    });
    for (const [key, value] of [
      ['image', 'file_1'],
      ['reference_images', ['file_1']],
      ['video_url', 'https://a.example/a.mp4'],
      ['audio_url', 'https://a.example/a.mp3'],
      ['image_urls', ['https://a.example/a.png']],
      ['firstFrame', 'data:image/png;base64,AAAA'],
    ] as const) {
      const refused = refusal(() => resolve('flux-1.1-pro', { prompt: 'a fox', [key]: value }, legacy));
      expect(refused.what).toBe(`unsupported_parameter ${key}`);
    }
    expect(refusal(() => resolve('flux-1.1-pro', { prompt: 'a fox', aspect_ratio: '16x9' }, legacy)).what).toBe(
      'invalid_value aspect_ratio',
    );
  });

  it('either resolve to an input with a price or are refused with a code of the error table', () => {
    const media = [...entries.values()].filter(({ model }) => model.type !== 'chat');
    const keys = [
      'prompt',
      'image',
      'reference_images',
      'img_size',
      'aspect_ratio',
      'duration',
      'generate_audio',
      'variant',
    ];
    const body = fc.oneof(
      fc.dictionary(fc.constantFrom(...keys, '__proto__', 'toString'), fc.jsonValue()),
      fc.dictionary(fc.string(), fc.anything()),
    );
    fc.assert(
      fc.property(fc.constantFrom(...media), body, fc.constantFrom('core', 'legacy'), (entry, fields, dialect) => {
        try {
          const { input } = resolveMediaRequest(entry, { prompt: 'a fox', ...fields }, { dialect });
          expect(mediaCredits(entry.model, input)).toBeGreaterThanOrEqual(1);
        } catch (error) {
          if (!(error instanceof GatewayError)) throw error;
          expect(Object.keys(errorTable)).toContain(error.code);
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe('the values of a parameter', () => {
  it('are exactly the steps between min and max', () => {
    const number = {
      min: fc.integer({ min: -100, max: 100 }),
      step: fc.integer({ min: 1, max: 50 }),
      count: fc.nat(60),
    };
    fc.assert(
      fc.property(fc.record(number), fc.constantFrom(1, 10, 100), ({ min, step, count }, scale) => {
        const range: AcceptedParameter = {
          kind: 'range',
          min: min / scale,
          max: (min + step * count) / scale,
          step: step / scale,
        };
        const listed = listValues(range) ?? [];
        expect(listed).toEqual(Array.from({ length: count + 1 }, (_, index) => (min + step * index) / scale));
        expect(listed.every((value) => accepts(range, value))).toBe(true);
        expect(accepts(range, (min - step) / scale)).toBe(false);
        expect(accepts(range, (min + step * (count + 1)) / scale)).toBe(false);
        expect(accepts(range, (min + step / 2) / scale)).toBe(false);
        for (const other of [NaN, Infinity, String(min), null, [min]]) expect(accepts(range, other)).toBe(false);
      }),
    );
  });

  it('are not listed if there are too many, and an unbounded descriptor accepts none', () => {
    expect(listValues({ kind: 'range', min: 0, max: 1e9, step: 1 })).toBeUndefined();
    const entry = entryOf('stable-diffusion-3.5');
    const fields: Parameters['fields'] = [{ key: 'guidance', label: 'Guidance', type: 'number' }];
    const unbounded = { ...entry, model: { ...entry.model, parameters: { prompt: true, fields } } };
    const guidance = acceptedParameters(unbounded).get('guidance');
    expect(guidance && listValues(guidance)).toEqual([]);
    expect(guidance && accepts(guidance, 5)).toBe(false);
  });
});

describe('the parameters for a provider', () => {
  const falOf = (id: string) => entryOf(id).private.upstream.fal ?? { model: '', cost: [], parameters: {} };

  it('are renamed and translated tuning parameters, without the prompt and media inputs', () => {
    const input = resolve('aurora-image-1', {
      prompt: 'a fox',
      img_size: '4k',
      aspect_ratio: '16:9',
      negative_prompt: 'blur',
      image: 'file_1',
      reference_images: ['file_2'],
    });
    expect(mapParameters(falOf('aurora-image-1'), input)).toEqual({
      negative_prompt: 'blur',
      resolution: '4K',
      aspect_ratio: '16:9',
    });
    const kling = resolve('kling-2.5-turbo', { prompt: 'a fox', duration: 10 });
    expect(mapParameters(falOf('kling-2.5-turbo'), kling)).toEqual({ aspect_ratio: '16:9', duration: '10' });
  });

  it('omit a value or a parameter that is mapped to null, and select the model of the variant', () => {
    const veo = resolve('veo-3.1', { prompt: 'a fox', variant: 'quality', duration: 8 });
    expect(mapParameters(falOf('veo-3.1'), veo)).toEqual({
      aspect_ratio: '16:9',
      duration: '8s',
      resolution: '1080p',
      generate_audio: true,
    });
    expect(upstreamModel(falOf('veo-3.1'), veo)).toBe('fal-ai/veo3.1');
    expect(upstreamModel(falOf('veo-3.1'), { prompt: 'a fox', veo31_variant: 'toString' })).toBe('fal-ai/veo3.1/fast');
    expect(upstreamModel(falOf('veo-3.1'), { ...veo, image: 'https://a.example/1.png' })).toBe(
      'fal-ai/veo3.1/image-to-video',
    );
    expect(upstreamModel(falOf('kling-2.5-turbo'), { prompt: 'a fox' })).toBe(
      'fal-ai/kling-video/v2.5-turbo/pro/text-to-video',
    );
    expect(upstreamModel(falOf('seedream-4'), { prompt: 'a fox', image: 'file_1', reference_images: ['file_2'] })).toBe(
      'fal-ai/bytedance/seedream/v4/edit',
    );
    expect(upstreamModel(falOf('aurora-image-1'), veo)).toBe('fal-ai/aurora/v1');
    const aleph = resolve('runway-aleph', { prompt: 'a fox' });
    expect(aleph).toMatchObject({ resolution: 'default' });
    const { runway } = entryOf('runway-aleph').private.upstream;
    expect(runway && mapParameters(runway, aleph)).toEqual({ targetAspectRatio: '16:9' });
  });

  it('may become several fields, share one field, and go with fixed fields', () => {
    const mapping: Pick<UpstreamMapping, 'parameters' | 'sends' | 'fixed'> = {
      parameters: { duration: [{ name: 'seconds' }, { name: 'frames', values: { '5': 120 } }], resolution: null },
      sends: [
        { when: { img_size: '1k', aspect_ratio: '1:1' }, fields: { size: '1024x1024' } },
        { when: { img_size: '1k' }, fields: { size: 'auto', quality: 'low' } },
        { when: { image: true, resolution: '720p' }, fields: { mode: 'edit' } },
        { when: { negative_prompt: true }, fields: { guidance: 'strict' } },
      ],
      fixed: { watermark: false },
    };
    const input = { prompt: 'a fox', duration: 5, img_size: '1k', aspect_ratio: '1:1', resolution: '720p' };
    expect(mapParameters(mapping, input)).toEqual({
      seconds: 5,
      frames: 120,
      size: '1024x1024',
      quality: 'low',
      watermark: false,
    });
    expect(mapParameters(mapping, { ...input, aspect_ratio: '4:3', image: 'file_1' })).toMatchObject({
      size: 'auto',
      mode: 'edit',
    });
    expect(mapParameters(mapping, { ...input, negative_prompt: 'blur' })).toMatchObject({
      negative_prompt: 'blur',
      guidance: 'strict',
    });
  });

  it('are sent only to families that support every value', () => {
    const entry = entryOf('gemini-omni-flash');
    const fal = { ...falOf('gemini-omni-flash'), only: { resolution: ['720p'] } };
    const limited = { ...entry, private: { ...entry.private, upstream: { ...entry.private.upstream, fal } } };
    const families = (body: object) =>
      Object.keys(taskSnapshot(limited, resolve('gemini-omni-flash', { prompt: 'a fox', ...body })).upstream).sort();
    expect(families({ resolution: '720p' })).toEqual(['fal', 'gemini']);
    expect(families({ resolution: '1080p' })).toEqual(['gemini']);
    const one = { image: 'https://a.example/1.png' };
    expect(families(one)).toEqual(['fal', 'gemini']);
    expect(families({ ...one, reference_images: ['https://a.example/2.png'] })).toEqual([]);
  });
});

describe('the model list', () => {
  it('shows active models in the specified format without private fields', () => {
    const list = modelList([...entries.values()]);
    const ids = list.data.map(({ id }) => id);
    expect(list.object).toBe('list');
    expect(ids).toContain('ideogram-v3');
    expect(ids).not.toContain('stable-diffusion-3.5');
    expect(JSON.stringify(list)).not.toMatch(/private|upstream|fal-ai|cost_micro_usd|aliases/);
    expect(Object.keys(publicModel(entryOf('flux-1.1-pro')))).toEqual([
      'id',
      'object',
      'type',
      'owned_by',
      'display_name',
      'group',
      'capability',
      'description',
      'status',
      'pricing',
      'parameters',
    ]);
    expect(publicModel(entryOf('aurora-image-1')).catalogVisible).toBe(true);
  });

  it('hides private models', () => {
    const aurora = entryOf('aurora-image-1');
    expect(modelList([{ ...aurora, private: { ...aurora.private, public: false } }]).data).toEqual([]);
  });
});
