import { z } from 'zod';
import type { CatalogEntry } from '../../../domain/catalog/catalog.ts';
import { tuningKeys } from '../../../domain/catalog/parameters.ts';
import type { Findings } from './findings.ts';

/** The descriptors that every chat model has (spec §2.3). */
export const chatDescriptors = {
  temperature: { type: 'number', min: 0, max: 2, step: 0.1, default: 0.7 },
  max_tokens: { type: 'number', min: 16, max: 8192, step: 16, default: 1024 },
} as const;

const mediaMembers = [
  ...tuningKeys,
  'pricingRules',
  'video_url',
  'audio_url',
  'reference_images',
  'negative_prompt',
  'variants',
];

/** Checks that a chat model has prices per token, the two fixed descriptors, and no member of image and video models. */
export function checkChat({ model, private: hidden }: CatalogEntry, { problem }: Findings): void {
  const { pricing, parameters } = model;
  if (pricing.unit !== 'tokens') problem('pricing.unit', 'must be tokens for chat models');
  for (const member of ['credits_per_1k_input_tokens', 'credits_per_1k_output_tokens'] as const) {
    if (pricing[member] < 1) problem(`pricing.${member}`, 'must be at least 1 for chat models');
    if ((pricing.long_input?.[member] ?? 1) < 1)
      problem(`pricing.long_input.${member}`, 'must be at least 1 for chat models');
  }
  for (const flagKey of ['messages', 'temperature', 'max_tokens'] as const) {
    if (parameters[flagKey] !== true) problem(`parameters.${flagKey}`, 'must be true for chat models');
  }
  for (const member of mediaMembers) {
    if (parameters[member] !== undefined && parameters[member] !== false) {
      problem(`parameters.${member}`, 'belongs to image and video models');
    }
  }
  const fields = parameters.fields ?? [];
  for (const [fixedKey, fixed] of Object.entries(chatDescriptors)) {
    const field = fields.find((candidate) => candidate.key === fixedKey);
    const isFixed = (['type', 'min', 'max', 'step', 'default'] as const).every((key) => field?.[key] === fixed[key]);
    if (!isFixed) problem(`parameters.fields.${fixedKey}`, `must be the fixed descriptor ${JSON.stringify(fixed)}`);
  }
  for (const field of fields.filter((candidate) => !Object.hasOwn(chatDescriptors, candidate.key))) {
    problem(`parameters.fields.${field.key}`, 'is not a descriptor of chat models');
  }
  if (hidden.context_tokens === null) problem('private.context_tokens', 'is required for chat models');
  if (
    hidden.max_tokens &&
    hidden.max_output_tokens !== undefined &&
    hidden.max_output_tokens < hidden.max_tokens.default
  ) {
    problem('private.max_output_tokens', 'must not be below max_tokens.default');
  }
  if (hidden.variant_field !== null) problem('private.variant_field', 'belongs to image and video models');
  if (hidden.reference_images_max !== 0) problem('private.reference_images_max', 'belongs to image and video models');
  for (const [alias, preset] of Object.entries(hidden.aliases)) {
    if (Object.keys(preset).length > 0)
      problem(`private.aliases.${alias}`, 'can preset nothing: it is of a chat model');
  }
}

/** A valid chat request in `parameters.examples`. */
export const ChatExample = z.strictObject({
  model: z.string().optional(),
  messages: z
    .array(z.looseObject({ role: z.string().min(1), content: z.union([z.string().min(1), z.array(z.json()).min(1)]) }))
    .min(1),
  temperature: z.number().min(chatDescriptors.temperature.min).max(chatDescriptors.temperature.max).optional(),
  max_tokens: z.int().min(chatDescriptors.max_tokens.min).max(chatDescriptors.max_tokens.max).optional(),
});
