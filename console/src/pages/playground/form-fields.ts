import type { Model } from '../../api/client-types.ts';
import { words } from '../../ui/format.ts';

/** A field that the catalog describes. */
export type Field = NonNullable<Model['parameters']['fields']>[number];

/** The values of a form by the key of the field. `undefined` is a field that is not sent. */
export type Values = Record<string, string | number | boolean | string[] | undefined>;

/** The fields of a model: those that its catalog entry describes, and its lists of values that have no description. */
export function fieldsOf({ parameters }: Model): Field[] {
  const described = parameters.fields ?? [];
  const describedKeys = new Set(described.map(({ key }) => key));
  const others = listKeys.flatMap((key): Field[] => {
    const options = parameters[key];
    if (describedKeys.has(key) || !isOptions(options)) return [];
    return [{ key, label: words(key), type: 'enum', options }];
  });
  return [...described, ...others];
}

const listKeys = ['img_size', 'aspect_ratio', 'duration', 'resolution'];

const isOptions = (value: unknown): value is (string | number)[] => Array.isArray(value) && value.length > 0;

const mediaInputs = ['image', 'reference_images', 'video_url', 'audio_url'] as const;
export type MediaInput = (typeof mediaInputs)[number];

/** The media that a model takes beside the prompt. */
export const mediaInputsOf = ({ parameters }: Model): MediaInput[] =>
  mediaInputs.filter((key) => parameters[key] === true);

/** What the form has before anybody typed: the defaults, and a prompt that works. */
export function initialValues(model: Model): Values {
  const example = model.parameters.examples?.find(
    ({ values }) => !mediaInputs.some((key) => values[key] !== undefined),
  );
  const prompt = example?.values['prompt'];
  const defaults: [string, Values[string]][] = fieldsOf(model).map((field) => [field.key, field.default]);
  return {
    prompt: typeof prompt === 'string' ? prompt : 'A red fox in fresh snow at sunrise',
    ...Object.fromEntries(defaults),
  };
}

/** The body of a create, without what was left empty. */
export function requestBody(model: Model, values: Values): Record<string, unknown> {
  const filled = Object.entries(values).filter(
    ([, value]) => value !== undefined && value !== '' && !(Array.isArray(value) && value.length === 0),
  );
  return { model: model.id, ...Object.fromEntries(filled) };
}

/** The values of another model's form that this model takes. What only it has is as usual. */
export function fittingValues(model: Model, values: Values): Values {
  const inputs: readonly string[] = ['prompt', 'negative_prompt', ...mediaInputsOf(model)];
  const takes = (key: string): boolean => key !== 'negative_prompt' || model.parameters['negative_prompt'] === true;
  const own = fieldsOf(model).map(({ key, options, default: usual }): [string, Values[string]] => {
    const value = values[key];
    const fits = value !== undefined && (options === undefined || options.some((option) => option === value));
    return [key, fits ? value : usual];
  });
  return {
    ...Object.fromEntries(Object.entries(values).filter(([key]) => inputs.includes(key) && takes(key))),
    ...Object.fromEntries(own),
  };
}
