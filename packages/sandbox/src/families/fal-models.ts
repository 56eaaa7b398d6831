import type { Fields } from '../chat.ts';

interface FalModel {
  /** The endpoints, without the leading slash. */
  path: RegExp;
  fields: string;
  /** By field, the values that fal takes as text or number. Fields without a row take anything. */
  values?: Record<string, RegExp>;
  /** A field that the endpoint cannot do without. */
  needs?: string;
}

const ratios = /^(auto|16:9|9:16|1:1|4:3|3:4|21:9)$/;
const presets = /^(square_hd|square|portrait_4_3|portrait_16_9|landscape_4_3|landscape_16_9|\{.*\})$/;
const pictureFields = 'prompt image_size num_images seed sync_mode output_format enable_safety_checker';
const veoFields =
  'prompt aspect_ratio duration negative_prompt resolution generate_audio seed auto_fix safety_tolerance';
const veoValues = { duration: /^[468]s$/, resolution: /^(720p|1080p|4k)$/, aspect_ratio: /^(auto|16:9|9:16)$/ };
const omniFields = 'prompt aspect_ratio duration resolution';
const omniValues = {
  duration: /^([3-9]|10)$/,
  resolution: /^(360p|720p|1080p|4k)$/,
  aspect_ratio: /^(16:9|9:16)$/,
};
const wanFields =
  'prompt audio_url resolution duration negative_prompt enable_prompt_expansion seed enable_safety_checker';
const wanValues = { duration: /^(5|10)$/, resolution: /^(480p|720p|1080p)$/ };
const klingFields = 'prompt duration negative_prompt cfg_scale';
const kling3Fields = `${klingFields} generate_audio shot_type`;
const seedanceFields = 'prompt resolution duration aspect_ratio generate_audio seed';
const seedanceValues = {
  duration: /^(auto|[4-9]|1[0-5])$/,
  resolution: /^(480p|720p|1080p|4k)$/,
  aspect_ratio: ratios,
};

/**
 * The fields of the endpoints in the shipped catalog, as https://fal.ai/models/…/llms.txt and https://fal.ai/docs/model-api-reference
 * describe them (read on 2026-11-22), so that tests notice a wrong mapping. Endpoints that are not listed take anything.
 */
const models: readonly FalModel[] = [
  { path: /^fal-ai\/veo3\.1(\/fast|\/lite)?$/, fields: veoFields, values: veoValues },
  {
    path: /^fal-ai\/veo3\.1(\/fast|\/lite)?\/image-to-video$/,
    fields: `${veoFields} image_url`,
    values: veoValues,
    needs: 'image_url',
  },
  {
    // No negative prompt here, and no first frame.
    path: /^fal-ai\/veo3\.1(\/fast|\/lite)?\/reference-to-video$/,
    fields: 'prompt aspect_ratio duration resolution generate_audio auto_fix safety_tolerance image_urls',
    values: veoValues,
    needs: 'image_urls',
  },
  {
    path: /^fal-ai\/kling-video\/v3\/(pro|standard)\/text-to-video$/,
    fields: `${kling3Fields} aspect_ratio`,
    values: { duration: /^([3-9]|1[0-5])$/, aspect_ratio: /^(16:9|9:16|1:1)$/ },
  },
  {
    path: /^fal-ai\/kling-video\/v3\/(pro|standard)\/image-to-video$/,
    fields: `${kling3Fields} start_image_url`,
    values: { duration: /^([3-9]|1[0-5])$/ },
    needs: 'start_image_url',
  },
  {
    path: /^fal-ai\/kling-video\/v2\.5-turbo\/pro\/text-to-video$/,
    fields: `${klingFields} aspect_ratio`,
    values: { duration: /^(5|10)$/, aspect_ratio: /^(16:9|9:16|1:1)$/ },
  },
  {
    path: /^fal-ai\/kling-video\/v2\.5-turbo\/pro\/image-to-video$/,
    fields: `${klingFields} image_url`,
    values: { duration: /^(5|10)$/ },
    needs: 'image_url',
  },
  { path: /^bytedance\/seedance-2\.0\/text-to-video$/, fields: seedanceFields, values: seedanceValues },
  {
    path: /^bytedance\/seedance-2\.0\/image-to-video$/,
    fields: `${seedanceFields} image_url`,
    values: seedanceValues,
    needs: 'image_url',
  },
  {
    path: /^fal-ai\/bytedance\/seedream\/v(4|5\/lite)\/text-to-image$/,
    fields: `${pictureFields} max_images enhance_prompt_mode`,
    values: { image_size: /^(auto_[234]K|auto|\{.*\}|square_hd)$/ },
  },
  {
    path: /^fal-ai\/bytedance\/seedream\/v(4|5\/lite)\/edit$/,
    fields: `${pictureFields} max_images enhance_prompt_mode image_urls`,
    values: { image_size: /^(auto_[234]K|auto|\{.*\}|square_hd)$/ },
    needs: 'image_urls',
  },
  { path: /^google\/gemini-omni-flash\/v1\.1\/text-to-video$/, fields: omniFields, values: omniValues },
  {
    path: /^google\/gemini-omni-flash\/v1\.1\/image-to-video$/,
    fields: `${omniFields} image_url`,
    values: omniValues,
    needs: 'image_url',
  },
  {
    path: /^google\/gemini-omni-flash\/v1\.1\/reference-to-video$/,
    fields: `${omniFields} image_urls`,
    values: omniValues,
    needs: 'image_urls',
  },
  {
    path: /^fal-ai\/wan-25-preview\/text-to-video$/,
    fields: `${wanFields} aspect_ratio`,
    values: { ...wanValues, aspect_ratio: /^(16:9|9:16|1:1)$/ },
  },
  {
    path: /^fal-ai\/wan-25-preview\/image-to-video$/,
    fields: `${wanFields} image_url`,
    values: wanValues,
    needs: 'image_url',
  },
  {
    path: /^ideogram\/v4$/,
    fields: `${pictureFields} rendering_speed enable_prompt_expansion acceleration`,
    values: { image_size: presets, rendering_speed: /^(TURBO|BALANCED|QUALITY)$/ },
  },
  {
    path: /^fal-ai\/nano-banana-(2|pro)$/,
    fields: `${pictureFields} resolution aspect_ratio`,
    values: { resolution: /^(0\.5|[124])K$/, aspect_ratio: ratios },
  },
  {
    path: /^fal-ai\/nano-banana-(2|pro)\/edit$/,
    fields: `${pictureFields} resolution aspect_ratio image_urls`,
    values: { resolution: /^(0\.5|[124])K$/, aspect_ratio: ratios },
    needs: 'image_urls',
  },
];

/** The first field that fal would refuse at this endpoint, or undefined. */
export function refusedField(path: string, input: Fields): string | undefined {
  const endpoint = path.replace(/^\//, '');
  // Veo has no endpoint for 4k: that is a resolution.
  if (/^fal-ai\/veo3\.1\b.*\/4k\b/.test(endpoint)) return 'path';
  const model = models.find((one) => one.path.test(endpoint));
  if (!model) return undefined;
  if (model.needs !== undefined && input[model.needs] === undefined) return model.needs;
  const acceptedFields = model.fields.split(' ');
  return Object.entries(input).find(([name, value]) => {
    const values = model.values?.[name];
    return (
      !acceptedFields.includes(name) ||
      values?.test(typeof value === 'string' ? value : JSON.stringify(value)) === false
    );
  })?.[0];
}
