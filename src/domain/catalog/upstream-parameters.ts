import type { UpstreamMapping } from './catalog.ts';
import type { JsonObject } from '../json.ts';
import { mediaInputKeys } from './parameter-value.ts';
import { isInputKey, meets } from './request-condition.ts';

/**
 * A task's tuning parameters under the provider's names, without the prompt and the media inputs, which are separate fields. A
 * parameter without a mapping keeps its name and value. A parameter or a value mapped to `null` is not sent. Fixed fields come last.
 */
export function mapParameters(mapping: SentMapping, input: JsonObject): JsonObject {
  const mapped: JsonObject = {};
  const combined = combinedKeys(mapping);
  for (const [key, value] of Object.entries(input)) {
    if (key === 'prompt' || mediaInputKeys.some((inputKey) => inputKey === key)) continue;
    const listed = Object.hasOwn(mapping.parameters, key) ? mapping.parameters[key] : undefined;
    if (listed === null || (listed === undefined && combined.has(key))) continue;
    for (const { name, values } of [listed ?? { name: key }].flat()) {
      const translation = translated(values, value);
      if (translation !== null) mapped[name] = translation ?? value;
    }
  }
  const met = (mapping.sends ?? []).filter(({ when }) => meets(when, input));
  // Backwards, so that the first of two rules with one field decides.
  for (const { fields } of met.reverse()) Object.assign(mapped, fields);
  return { ...mapped, ...mapping.fixed };
}

/** The parameters that only the rules of `sends` translate. Inputs are none of them: a rule asks only whether they are given. */
export const combinedKeys = ({ parameters, sends = [] }: SentMapping): ReadonlySet<string> =>
  new Set(
    sends.flatMap(({ when }) => Object.keys(when)).filter((key) => !isInputKey(key) && !Object.hasOwn(parameters, key)),
  );

type SentMapping = Pick<UpstreamMapping, 'parameters' | 'sends' | 'fixed'>;

/** The upstream's name of the model for this task. Some providers sell each variant or kind of input under another name. */
export function upstreamModel(
  mapping: Pick<UpstreamMapping, 'model' | 'model_by' | 'path_by_input'>,
  input: JsonObject,
): string {
  const { model_by: modelBy, path_by_input: paths } = mapping;
  const variant = modelBy && Object.hasOwn(input, modelBy.key) && translated(modelBy.values, input[modelBy.key]);
  const model = variant || mapping.model;
  if (paths === undefined) return model;
  const inputKey = inputsByRank.find((key) => paths[key] !== undefined && Object.hasOwn(input, key)) ?? 'none';
  const path = paths[inputKey];
  return path === undefined ? model : `${model}/${path}`;
}

const inputsByRank = ['video_url', 'reference_images', 'image'] as const;

const translated = <T>(values: Record<string, T> | undefined, value: unknown): T | undefined => {
  const isName = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
  return values !== undefined && isName && Object.hasOwn(values, String(value)) ? values[String(value)] : undefined;
};
