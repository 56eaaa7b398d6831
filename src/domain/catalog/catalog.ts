import { z } from 'zod';
import type { JsonObject } from '../json.ts';
import { Cost, ReadCost } from './cost-schema.ts';
import { Pricing, PricingRule } from './price-schema.ts';

/** The longest list of values, and the most values of a descriptor whose values each need a price. */
export const valuesMax = 1_000;

const name = z.string().min(1).max(200);
const key = z.string().regex(/^[a-z][a-z0-9_]{0,63}$/, 'must be lower case letters, digits and _');
export const strings = z.array(name).min(1).max(valuesMax);
const scalar = z.union([z.string(), z.number(), z.boolean()]);
const optionalFlag = z.boolean().optional();

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

/** The flags, allowed-value arrays, rules, descriptors and examples of §2.3, and a vendor's variant list under its own name. */
// Loose because `private.variant_field` names one more member. `checkVariants` refuses all others.
export const ModelParameters = z.looseObject({
  prompt: optionalFlag,
  image: optionalFlag,
  video_url: optionalFlag,
  audio_url: optionalFlag,
  reference_images: optionalFlag,
  negative_prompt: optionalFlag,
  messages: optionalFlag,
  stream: optionalFlag,
  temperature: optionalFlag,
  max_tokens: optionalFlag,
  variants: optionalFlag,
  generate_audio: optionalFlag,
  img_size: strings.optional(),
  aspect_ratio: strings.optional(),
  duration: z.array(z.int().min(1)).min(1).max(valuesMax).optional(),
  resolution: strings.optional(),
  pricingRules: z.array(PricingRule).max(valuesMax).optional(),
  fields: z.array(Descriptor).max(100).optional(),
  examples: z
    .array(z.strictObject({ label: name, values: z.record(z.string(), z.json()) }))
    .max(100)
    .optional(),
});

/** OpenAI's levels of `reasoning_effort`, from the least to the most, which the other families translate. */
export const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;

const inputName = z.string().regex(/^\w{1,64}$/);
const path = z.string().regex(/^[\w-]+(\/[\w-]+){0,4}$/);
const sentence = z.string().min(1).max(500);
const condition = z.record(key, z.union([scalar, z.array(scalar).min(1).max(valuesMax)]));
const pageTokens = z.int().min(1).max(100_000);
/** One parameter of ours under the provider's name. A value of ours, as a string, that becomes `null` is not sent. */
const FieldMapping = z.strictObject({ name: inputName, values: z.record(z.string(), z.json()).optional() });
/** How a model is requested from one adapter family: the family's name of it, the mapping of our parameters, and the cost. */
const Mapping = z.strictObject({
  model: name,
  /** For providers that sell a variant as a separate model: the parameter that decides, and the model names by its value. */
  model_by: z.strictObject({ key, values: z.record(z.string(), name) }).optional(),
  /**
   * For providers with a separate endpoint per kind of input: the suffix of the model's name, by the input that is given
   * (`none` for a prompt alone). If several inputs are given, the first of these decides: video_url, reference_images, image.
   */
  path_by_input: z
    .strictObject({
      video_url: path.optional(),
      reference_images: path.optional(),
      image: path.optional(),
      none: path.optional(),
    })
    .optional(),
  /** What the provider charges. */
  cost: Cost,
  /** Where the mapping and its cost were checked, and on which day (YYYY-MM-DD). */
  verified: z.strictObject({ source: sentence, on: z.iso.date() }).optional(),
  /** The model's key in LiteLLM's list of prices, where it cannot be derived from the family and the model. */
  price_key: name.optional(),
  /** Why our cost is not the one of that list. */
  price_differs: sentence.optional(),
  /** Why this mapping may cost more than the client pays. */
  loss_ok: sentence.optional(),
  /**
   * Our parameter key → the provider's, or several of them. A key that is not listed is sent under its own name and value; `null`
   * means "not sent".
   */
  parameters: z.record(key, z.union([FieldMapping, z.array(FieldMapping).min(1).max(10)]).nullable()).default({}),
  /**
   * Fields that depend on several parameters. Every rule that a request meets sends its fields; of two rules with one field, the
   * first decides. A parameter in `when` is not sent under its own name, unless `parameters` lists it.
   */
  sends: z
    .array(z.strictObject({ when: condition, fields: z.record(inputName, z.json()) }))
    .max(valuesMax)
    .optional(),
  /** Fields that are always sent, with these values. */
  fixed: z.record(inputName, z.json()).optional(),
  /** The further fields of a chat request that are sent to this family. Absent: `passThroughDefault`. */
  pass_through: z.array(inputName).max(100).optional(),
  /** The values that this family offers, by parameter. A task with another value goes to the other families. */
  only: z.record(key, z.array(scalar).min(1).max(valuesMax)).optional(),
  /** The requests that this family does not take, such as two inputs that exclude each other. They go to the other families. */
  refuses: z
    .array(condition.refine((each) => Object.keys(each).length > 0, 'must name what excludes each other'))
    .min(1)
    .max(valuesMax)
    .optional(),
  /** Chat: the model refuses a forced tool choice, so a request that forces one goes to the other families. */
  no_forced_tools: optionalFlag,
  /** Chat: the most tools that the vendor takes. Absent: the family's own limit. */
  tools_max: z.int().min(1).max(10_000).optional(),
  /** Chat: the model reads PDFs, and what the provider counts for a page. Absent: it takes none. */
  documents: z
    .strictObject({
      /** The most tokens, for the picture of a page and 3,000 tokens of text on it. */
      page_tokens: pageTokens,
      /** The tokens of an ordinary page, for estimates. */
      likely_page_tokens: pageTokens,
    })
    .refine(({ page_tokens: most, likely_page_tokens: likely }) => likely <= most, {
      path: ['likely_page_tokens'],
      message: 'must not be above page_tokens',
    })
    .optional(),
  /** Anthropic and Gemini: how the model takes `reasoning_effort`, as a level or as a budget of tokens. Absent: not at all. */
  thinking: z.enum(['adaptive', 'budget']).optional(),
  /** Anthropic, `adaptive`: the value that switches thoughts off; `never`: the model always thinks. Absent: `disabled`. Gemini: `never` if it refuses `MINIMAL`. */
  thinking_off: z.enum(['between_tools', 'never']).optional(),
  /** OpenAI-compatible: the values of `reasoning_effort` that the model takes. Absent: those of its vendor, or all. */
  efforts: z.array(z.enum(efforts)).min(1).optional(),
  /** OpenAI: the API that serves the model. Absent: chat completions. */
  api: z.enum(['responses']).optional(),
  /** Anthropic: the model takes messages of the system between the turns. Otherwise they become part of its instructions. */
  system_turns: optionalFlag,
  /** OpenAI-compatible: the vendor, whose own table says which fields it takes. Absent: OpenAI's own fields are sent. */
  vendor: inputName.optional(),
  /** OpenAI-compatible: the model wants its `reasoning_content` back with the results of its tool calls. */
  keeps_reasoning: optionalFlag,
  /** The provider's names of the media inputs, for families whose models each use other names. */
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

/** The private part of a model: clients never see it. */
const Private = z.strictObject({
  /** False hides the model from the listing and from use. */
  public: z.boolean().default(true),
  /** Why the model is no longer sold. Its entry stays for the tasks that used it, and another model may have its id as an alias. */
  retired: sentence.optional(),
  /** The first day (UTC, YYYY-MM-DD) on which the model is not sold any more. */
  ends_on: z.iso.date().optional(),
  /** Why the model may cost more than the client pays, whatever family makes it. */
  loss_ok: sentence.optional(),
  /** Channel groups that may serve the model. */
  groups: z
    .array(z.string().regex(/^[\w-]{1,64}$/))
    .min(1)
    .max(100),
  /** The request field (and `parameters` key) that carries the vendor's variants; catalog data, never hard-coded. */
  variant_field: key.nullable().default(null),
  /** The most reference images that the model accepts. */
  reference_images_max: z.int().min(0).max(100).default(0),
  /** Tokens that the hold counts for one image in a chat message. */
  image_tokens: z.int().min(0).max(1_000_000).default(1_600),
  /** Tokens of context, for chat models. */
  context_tokens: z.int().min(1).nullable().default(null),
  /** For chat models whose thoughts count against `max_tokens`: the least that is sent, and the default. */
  max_tokens: z
    .strictObject({ min: answerTokens, default: answerTokens })
    .refine(({ min, default: usual }) => min <= usual, { path: ['default'], message: 'must not be below min' })
    .optional(),
  /** For chat models: the most tokens of output that a request under `/v1` may ask for. */
  max_output_tokens: z.int().min(16).max(1_000_000).optional(),
  /** For chat models: false spreads the turns of a conversation over the channels. Otherwise they go to the same one. */
  session_affinity: optionalFlag,
  // A list where the aliases preset nothing.
  /**
   * Further names of this model. Those of a chat model count on every route. Those of an image or video model may preset parameters, and count on
   * legacy routes and on those for SDKs of other vendors.
   */
  aliases: z
    .union([
      z.record(name, z.record(z.string(), z.json())),
      z
        .array(name)
        .transform((names): Record<string, JsonObject> => Object.fromEntries(names.map((alias) => [alias, {}]))),
    ])
    .default({}),
  /** By adapter family. */
  upstream: z.record(z.string().regex(/^[a-z][a-z0-9-]{0,63}$/), Mapping),
});

export const modelTypes = ['image', 'video', 'chat'] as const;

/** One model of the catalog file: the entry of the specification (§2.1–2.3) and a private part. */
export const CatalogFileEntry = z.strictObject({
  // Ids are followed by `:generateContent` in paths, so they must not contain a slash or a colon.
  id: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/, 'must be letters, digits, ".", "_" and "-"'),
  object: z.literal('model'),
  type: z.enum(modelTypes),
  owned_by: name,
  display_name: name,
  group: name,
  capability: z.string().min(1).max(1_000),
  description: z.string().max(10_000).nullable(),
  status: name,
  pricing: Pricing,
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

export type FieldDescriptor = z.output<typeof Descriptor>;
export type Parameters = z.output<typeof ModelParameters>;
export type UpstreamMapping = z.output<typeof Mapping>;
export type ModelPrivate = z.output<typeof Private>;

/** A public catalog entry, exactly in the shape of the specification (§2.1–2.3). */
export type Model = Omit<z.output<typeof CatalogFileEntry>, 'private'>;

/** Whether a model can do this. Its `capability` has words separated by commas. */
export const hasCapability = ({ capability }: Pick<Model, 'capability'>, word: string): boolean =>
  capability.split(',').includes(word);

export interface CatalogEntry {
  model: Model;
  private: ModelPrivate;
}
