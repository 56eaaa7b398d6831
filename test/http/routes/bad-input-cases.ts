import { z } from 'zod';

/** A create request that must be refused with this field and code. */
export interface FieldCase {
  what: string;
  body: Record<string, unknown>;
  param: string;
  code?: string;
  status?: number;
}

export const aurora = { model: 'aurora-image-1', prompt: 'a fox' };

export const veo = { model: 'veo-3.1', prompt: 'waves' };

const kling = { model: 'kling-2.5-turbo', prompt: 'a street' };

const wan = { model: 'wan-2.5', prompt: 'a singer' };

const runway = { model: 'runway-aleph', prompt: 'make it winter' };

export const long = (characters: number) => 'x'.repeat(characters);

export const modelCases: FieldCase[] = [
  { what: 'no model', body: { prompt: 'a fox' }, param: 'model', code: 'missing_parameter' },
  { what: 'a null model', body: { ...aurora, model: null }, param: 'model', code: 'missing_parameter' },
  { what: 'a number as model', body: { ...aurora, model: 7 }, param: 'model' },
  { what: 'an empty model', body: { ...aurora, model: '' }, param: 'model' },
  { what: 'a model of 300 characters', body: { ...aurora, model: long(300) }, param: 'model' },
  { what: 'an object as model', body: { ...aurora, model: { id: 'aurora-image-1' } }, param: 'model' },
  {
    what: 'an unknown model',
    body: { ...aurora, model: 'aurora-image-9' },
    param: 'model',
    code: 'model_not_found',
    status: 404,
  },
  {
    what: 'an inactive model',
    body: { ...aurora, model: 'stable-diffusion-3.5' },
    param: 'model',
    code: 'model_not_found',
    status: 404,
  },
  {
    what: 'a property name of Object.prototype as model',
    body: { ...aurora, model: 'toString' },
    param: 'model',
    code: 'model_not_found',
    status: 404,
  },
  { what: 'a video model', body: veo, param: 'model', code: 'model_type_mismatch' },
  { what: 'a chat model', body: { ...aurora, model: 'gpt-5-mini' }, param: 'model', code: 'model_type_mismatch' },
];

export const imageCases: FieldCase[] = [
  { what: 'no prompt', body: { model: 'aurora-image-1' }, param: 'prompt', code: 'missing_parameter' },
  { what: 'a null prompt', body: { ...aurora, prompt: null }, param: 'prompt' },
  { what: 'an empty prompt', body: { ...aurora, prompt: '' }, param: 'prompt' },
  { what: 'a prompt of spaces', body: { ...aurora, prompt: '  \n ' }, param: 'prompt' },
  { what: 'a number as prompt', body: { ...aurora, prompt: 5 }, param: 'prompt' },
  { what: 'an array as prompt', body: { ...aurora, prompt: ['a fox'] }, param: 'prompt' },
  { what: 'a prompt of 10,001 characters', body: { ...aurora, prompt: long(10_001) }, param: 'prompt' },
  { what: 'a number as negative_prompt', body: { ...aurora, negative_prompt: 5 }, param: 'negative_prompt' },
  { what: 'img_size 8k', body: { ...aurora, img_size: '8k' }, param: 'img_size' },
  { what: 'img_size 1K', body: { ...aurora, img_size: '1K' }, param: 'img_size' },
  { what: 'a number as img_size', body: { ...aurora, img_size: 1024 }, param: 'img_size' },
  { what: 'an array as img_size', body: { ...aurora, img_size: ['1k'] }, param: 'img_size' },
  {
    what: 'an img_size that only the form of the model offers',
    body: { model: 'seedream-4', prompt: 'a fox', img_size: '1k' },
    param: 'img_size',
  },
  { what: 'aspect_ratio 7:3', body: { ...aurora, aspect_ratio: '7:3' }, param: 'aspect_ratio' },
  { what: 'a number as aspect_ratio', body: { ...aurora, aspect_ratio: 1 }, param: 'aspect_ratio' },
  {
    what: 'an image for a model that accepts none',
    body: { model: 'flux-1.1-pro', prompt: 'a fox', image: 'https://example.com/a.png' },
    param: 'image',
    code: 'unsupported_parameter',
  },
  {
    what: 'duration on an image model',
    body: { ...aurora, duration: 5 },
    param: 'duration',
    code: 'unsupported_parameter',
  },
  { what: 'an unknown field', body: { ...aurora, colour: 'red' }, param: 'colour', code: 'unsupported_parameter' },
  {
    what: 'an unknown vendor variant',
    body: { ...aurora, veo31_variant: 'fast' },
    param: 'veo31_variant',
    code: 'unsupported_parameter',
  },
  { what: 'a number as image', body: { ...aurora, image: 5 }, param: 'image' },
  { what: 'an empty image', body: { ...aurora, image: '' }, param: 'image' },
  {
    what: 'a string as reference_images',
    body: { ...aurora, reference_images: 'https://example.com/a.png' },
    param: 'reference_images',
  },
  { what: 'empty reference_images', body: { ...aurora, reference_images: [] }, param: 'reference_images' },
  {
    what: '50 reference_images',
    body: { ...aurora, reference_images: Array.from({ length: 50 }, () => 'https://example.com/a.png') },
    param: 'reference_images',
  },
  {
    what: 'nested reference_images',
    body: { ...aurora, reference_images: [['https://example.com/a.png']] },
    param: 'reference_images',
  },
  {
    what: 'reference_images with null',
    body: { ...aurora, reference_images: ['https://example.com/a.png', null] },
    param: 'reference_images',
  },
  {
    what: 'an http URL among reference_images',
    body: { ...aurora, reference_images: ['https://example.com/a.png', 'http://example.com/b.png'] },
    param: 'reference_images',
    code: 'invalid_url',
  },
  {
    what: 'a data: URI that is not an image',
    body: { ...aurora, image: 'data:image/png;base64,aGVsbG8=' },
    param: 'image',
    code: 'invalid_image',
  },
  {
    what: 'a data: URI that is not base64',
    body: { ...aurora, image: 'data:image/png;base64,%%%' },
    param: 'image',
    code: 'invalid_url',
  },
  {
    what: 'an unknown file id',
    body: { ...aurora, image: `file_${'0'.repeat(26)}` },
    param: 'image',
    code: 'file_not_found',
    status: 404,
  },
];

export const videoCases: FieldCase[] = [
  ...[7, '5', 5.5, 0, -5, 999, [5]].map((duration) => ({
    what: `duration ${JSON.stringify(duration)}`,
    body: { ...veo, duration },
    param: 'duration',
  })),
  { what: 'resolution 480p', body: { ...veo, resolution: '480p' }, param: 'resolution' },
  { what: 'a number as resolution', body: { ...veo, resolution: 720 }, param: 'resolution' },
  { what: 'aspect_ratio 1:1', body: { ...veo, aspect_ratio: '1:1' }, param: 'aspect_ratio' },
  { what: 'an unknown veo31_variant', body: { ...veo, veo31_variant: 'turbo' }, param: 'veo31_variant' },
  { what: 'an unknown variant', body: { ...veo, variant: 'turbo' }, param: 'variant' },
  {
    what: 'a variant and a veo31_variant that differ',
    body: { ...veo, variant: 'fast', veo31_variant: 'lite' },
    param: 'variant',
  },
  { what: 'generate_audio "true"', body: { ...veo, generate_audio: 'true' }, param: 'generate_audio' },
  { what: 'generate_audio 1', body: { ...veo, generate_audio: 1 }, param: 'generate_audio' },
  {
    what: 'generate_audio for a model without audio',
    body: { ...kling, generate_audio: true },
    param: 'generate_audio',
    code: 'unsupported_parameter',
  },
  { what: 'an image model', body: aurora, param: 'model', code: 'model_type_mismatch' },
  { what: 'no prompt', body: { model: 'veo-3.1' }, param: 'prompt', code: 'missing_parameter' },
  {
    what: 'an image beside reference images for a model that takes one or the other',
    body: { ...veo, image: 'https://example.com/a.png', reference_images: ['https://example.com/b.png'] },
    param: 'image',
    code: 'unsupported_parameter',
  },
  {
    what: 'a negative prompt beside reference images for a model that takes one or the other',
    body: {
      model: 'veo-3.1',
      prompt: 'waves',
      negative_prompt: 'foam',
      reference_images: ['https://example.com/b.png'],
    },
    param: 'negative_prompt',
    code: 'unsupported_parameter',
  },
  {
    what: 'an http video_url',
    body: { ...runway, video_url: 'http://example.com/a.mp4' },
    param: 'video_url',
    code: 'invalid_url',
  },
  {
    what: 'an audio_url with a private address',
    body: { ...wan, audio_url: 'https://192.168.1.1/a.mp3' },
    param: 'audio_url',
    code: 'invalid_url',
  },
  {
    what: 'a video_url for a model that accepts none',
    body: { ...veo, video_url: 'https://example.com/a.mp4' },
    param: 'video_url',
    code: 'unsupported_parameter',
  },
];

export const badUrls = [
  'http://example.com/a.png',
  'ftp://example.com/a.png',
  'file:///etc/passwd',
  'javascript:alert(1)',
  '/a.png',
  'a.png',
  'https://user:secret@example.com/a.png',
  'https://127.0.0.1/a.png',
  'https://10.1.2.3/a.png',
  'https://169.254.169.254/latest/meta-data',
  'https://[::1]/a.png',
  `https://example.com/${long(2_048)}`,
];

export const badCallbacks = [
  'http://example.com/hook',
  '',
  7,
  {},
  '/hook',
  'https://',
  'https:///x',
  'https://localhost/hook',
  'https://printer.local/hook',
  'https://service.internal/hook',
  'https://intranet/',
  'https://127.0.0.1/hook',
  'https://10.0.0.1/hook',
  'https://172.16.0.1/hook',
  'https://192.168.0.1/hook',
  'https://169.254.169.254/hook',
  'https://100.64.0.1/hook',
  'https://0.0.0.0/hook',
  'https://224.0.0.1/hook',
  'https://255.255.255.255/hook',
  'https://2130706433/hook',
  'https://0x7f.1/hook',
  'https://[fe80::1%25eth0]/hook',
  'https://[127.0.0.1]/hook',
  'https://::1/hook',
  'https://[::ffff:10.0.0.1]/hook',
  'https://127.1/hook',
  'https://0177.0.0.1/hook',
  'https://①②⑦.0.0.1/hook',
  'https://127。0。0。1/hook',
  'https:\\\\127.0.0.1\\hook',
  'https://127.0.0.1./hook',
  'https://168.63.129.16/hook',
  'https://[::]/hook',
  'https://[64:ff9b::7f00:1]/hook',
  'https://[2002:7f00:1::]/hook',
  'https://[fd00:ec2::254]/hook',
  'https://[::127.0.0.1]/hook',
  'https://localhost./hook',
  'https://a.localhost/hook',
  'https://router.home.arpa/hook',
  'https://example.com:444/hook',
  'https://example.com\\@127.0.0.1/hook',
  ' https://example.com/hook',
  'https://user@example.com/hook',
  'https://example.com/a\r\nhook',
  'https://exa mple.com/hook',
  `https://example.com/${long(2_048)}`,
];

export const ErrorBody = z.object({
  error: z.object({ message: z.string().min(1), type: z.string(), param: z.string().nullable(), code: z.string() }),
});

/** The key with another character in the middle, so that its checksum is wrong. */
export const changed = (apiKey: string): string =>
  `${apiKey.slice(0, 20)}${apiKey[20] === 'A' ? 'B' : 'A'}${apiKey.slice(21)}`;
