import { z } from 'zod';
import { Cost, ReadCost } from './catalog-file-cost.ts';
import { FilePricing, FilePricingRules } from './catalog-file-pricing.ts';

/** The longest list of values, and the most values of a descriptor whose values each need a price. */
export const valuesMax = 1_000;

const name = z.string().min(1).max(200);
const key = z.string().regex(/^[a-z][a-z0-9_]{0,63}$/, 'must be lower case letters, digits and _');
export const strings = z.array(name).min(1).max(valuesMax);
const scalar = z.union([z.string(), z.number(), z.boolean()]);
const flag = z.boolean().optional();

const Descriptor = z.strictObject({
  key,
  label: name,
  type: z.enum(['enum', 'number', 'boolean']),
  options: z
    .array(z.union([name, z.number()]))
    .min(1)
    .max(valuesMax)
    .optional(),
  min: z.number().optional(),
  max: z.number().optional(),
  step: z.number().positive().optional(),
  default: scalar.optional(),
  description: z.string().max(2_000).optional(),
});

// Loose because `private.variant_field` names one more member. `checkVariants` refuses all others.
export const ModelParameters = z.looseObject({
  prompt: flag,
  image: flag,
  video_url: flag,
  audio_url: flag,
  reference_images: flag,
  negative_prompt: flag,
  messages: flag,
  stream: flag,
  temperature: flag,
  max_tokens: flag,
  variants: flag,
  generate_audio: flag,
  img_size: strings.optional(),
  aspect_ratio: strings.optional(),
  duration: z.array(z.int().min(1)).min(1).max(valuesMax).optional(),
  resolution: strings.optional(),
  pricingRules: FilePricingRules.max(valuesMax).optional(),
  fields: z.array(Descriptor).max(100).optional(),
  examples: z
    .array(z.strictObject({ label: name, values: z.record(z.string(), z.json()) }))
    .max(100)
    .optional(),
});

const inputName = z.string().regex(/^\w{1,64}$/);
const path = z.string().regex(/^[\w-]+(\/[\w-]+){0,4}$/);
const sentence = z.string().min(1).max(500);
const condition = z.record(key, z.union([scalar, z.array(scalar).min(1).max(valuesMax)]));
const pageTokens = z.int().min(1).max(100_000);
const FieldMapping = z.strictObject({ name: inputName, values: z.record(z.string(), z.json()).optional() });
const Mapping = z.strictObject({
  model: name,
  model_by: z.strictObject({ key, values: z.record(z.string(), name) }).optional(),
  path_by_input: z
    .strictObject({
      video_url: path.optional(),
      reference_images: path.optional(),
      image: path.optional(),
      none: path.optional(),
    })
    .optional(),
  cost: Cost,
  verified: z.strictObject({ source: sentence, on: z.iso.date() }).optional(),
  price_key: name.optional(),
  price_differs: sentence.optional(),
  loss_ok: sentence.optional(),
  parameters: z.record(key, z.union([FieldMapping, z.array(FieldMapping).min(1).max(10)]).nullable()).default({}),
  sends: z
    .array(z.strictObject({ when: condition, fields: z.record(inputName, z.json()) }))
    .max(valuesMax)
    .optional(),
  fixed: z.record(inputName, z.json()).optional(),
  pass_through: z.array(inputName).max(100).optional(),
  only: z.record(key, z.array(scalar).min(1).max(valuesMax)).optional(),
  refuses: z
    .array(condition.refine((each) => Object.keys(each).length > 0, 'must name what excludes each other'))
    .min(1)
    .max(valuesMax)
    .optional(),
  no_forced_tools: flag,
  tools_max: z.int().min(1).max(10_000).optional(),
  documents: z
    .strictObject({ page_tokens: pageTokens, likely_page_tokens: pageTokens })
    .refine(({ page_tokens: most, likely_page_tokens: likely }) => likely <= most, {
      path: ['likely_page_tokens'],
      message: 'must not be above page_tokens',
    })
    .optional(),
  thinking: z.enum(['adaptive', 'budget']).optional(),
  api: z.enum(['responses']).optional(),
  system_turns: flag,
  vendor: inputName.optional(),
  keeps_reasoning: flag,
  inputs: z
    .strictObject({
      image: inputName.optional(),
      reference_images: inputName.optional(),
      video_url: inputName.optional(),
      audio_url: inputName.optional(),
    })
    .optional(),
});

/** The limits of the specification (§4.2). */
const answerTokens = z.int().min(16).max(8_192);

const Private = z.strictObject({
  public: z.boolean().default(true),
  retired: sentence.optional(),
  loss_ok: sentence.optional(),
  groups: z
    .array(z.string().regex(/^[\w-]{1,64}$/))
    .min(1)
    .max(100),
  variant_field: key.nullable().default(null),
  reference_images_max: z.int().min(0).max(100).default(0),
  image_tokens: z.int().min(0).max(1_000_000).default(1_600),
  context_tokens: z.int().min(1).nullable().default(null),
  max_tokens: z
    .strictObject({ min: answerTokens, default: answerTokens })
    .refine(({ min, default: usual }) => min <= usual, { path: ['default'], message: 'must not be below min' })
    .optional(),
  max_output_tokens: z.int().min(16).max(1_000_000).optional(),
  session_affinity: flag,
  // A list where the aliases preset nothing.
  aliases: z
    .union([
      z.record(name, z.record(z.string(), z.json())),
      z.array(name).transform((names) => Object.fromEntries(names.map((alias) => [alias, {}]))),
    ])
    .default({}),
  upstream: z.record(z.string().regex(/^[a-z][a-z0-9-]{0,63}$/), Mapping),
});

/** One model of the catalog file: the entry of the specification (§2.1–2.3) and a private part. */
export const CatalogFileEntry = z.strictObject({
  // Ids are followed by `:generateContent` in paths, so they must not contain a slash or a colon.
  id: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/, 'must be letters, digits, ".", "_" and "-"'),
  object: z.literal('model'),
  type: z.enum(['image', 'video', 'chat']),
  owned_by: name,
  display_name: name,
  group: name,
  capability: z.string().min(1).max(1_000),
  description: z.string().max(10_000).nullable(),
  status: name,
  pricing: FilePricing,
  parameters: ModelParameters,
  catalogVisible: z.boolean().optional(),
  private: Private,
});

const values = z.record(z.string(), z.unknown());
const ReadField = FieldMapping.extend({ values: values.optional() });
const ReadMapping = Mapping.extend({
  cost: ReadCost,
  parameters: z.record(key, z.union([ReadField, z.array(ReadField)]).nullable()),
  sends: z.array(z.strictObject({ when: condition, fields: values })).optional(),
  fixed: values.optional(),
});

/** The parameters of a model once it was read. */
export const ReadParameters = ModelParameters.extend({
  examples: z.array(z.object({ label: z.string(), values })).optional(),
});

/** An entry once it was read: with every default, and each cost as a list. */
export const ReadEntry = CatalogFileEntry.extend({
  parameters: ReadParameters,
  private: Private.extend({
    public: z.boolean(),
    variant_field: key.nullable(),
    reference_images_max: z.int(),
    image_tokens: z.int(),
    context_tokens: z.int().nullable(),
    aliases: z.record(name, values),
    upstream: z.record(z.string(), ReadMapping),
  }),
});
