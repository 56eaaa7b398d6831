import type { UpstreamMapping } from './catalog.ts';
import type { JsonObject } from './json.ts';
import { mediaInputKeys } from './parameters.ts';

/**
 * A task's tuning parameters under the provider's names, without the prompt and the media inputs, which are separate fields. A
 * parameter without a mapping keeps its name and value. A parameter or a value mapped to `null` is not sent.
 */
export function mapParameters(mapping: UpstreamMapping, input: JsonObject): JsonObject {
  const mapped: JsonObject = {};
  for (const [key, value] of Object.entries(input)) {
    if (key === 'prompt' || mediaInputKeys.some((inputKey) => inputKey === key)) continue;
    const rule = Object.hasOwn(mapping.parameters, key) ? mapping.parameters[key] : undefined;
    if (rule === null) continue;
    const translation = translated(rule?.values, value);
    if (translation === null) continue;
    mapped[rule?.name ?? key] = translation ?? value;
  }
  return mapped;
}

/** The upstream's name of the model for this task. Some providers sell each variant or kind of input under another name. */
export function upstreamModel(mapping: UpstreamMapping, input: JsonObject): string {
  const { model_by: modelBy, path_by_input: paths } = mapping;
  const variant = modelBy && Object.hasOwn(input, modelBy.key) && translated(modelBy.values, input[modelBy.key]);
  const model = variant || mapping.model;
  if (paths === undefined) return model;
  const given = inputsByRank.find((key) => paths[key] !== undefined && Object.hasOwn(input, key)) ?? 'none';
  const path = paths[given];
  return path === undefined ? model : `${model}/${path}`;
}

const inputsByRank = ['video_url', 'reference_images', 'image'] as const;

/** Whether a family offers what the task asks for. Some sell fewer durations or variants of a model than others. */
export const canMake = (mapping: UpstreamMapping, input: JsonObject): boolean =>
  Object.entries(mapping.only ?? {}).every(
    ([key, values]) => !Object.hasOwn(input, key) || values.some((value) => value === input[key]),
  );

const translated = <T>(values: Record<string, T> | undefined, value: unknown): T | undefined => {
  const isName = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
  return values !== undefined && isName && Object.hasOwn(values, String(value)) ? values[String(value)] : undefined;
};
