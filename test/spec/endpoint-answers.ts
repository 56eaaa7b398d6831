import { z } from 'zod';
import type { Answer } from '../support/api-client.ts';
import { expect } from '@jest/globals';

const Flag = z.boolean().optional();
export const Parameters = z.strictObject({
  prompt: Flag,
  image: Flag,
  video_url: Flag,
  audio_url: Flag,
  reference_images: Flag,
  negative_prompt: Flag,
  messages: Flag,
  stream: Flag,
  temperature: Flag,
  max_tokens: Flag,
  variants: Flag,
  generate_audio: Flag,
  img_size: z.array(z.enum(['1k', '2k', '3k', '4k'])).optional(),
  aspect_ratio: z.array(z.enum(['1:1', '16:9', '9:16', '4:3', '3:4'])).optional(),
  duration: z.array(z.int().min(5).max(15)).optional(),
  resolution: z.array(z.enum(['default', '480p', '720p', '1080p'])).optional(),
  veo31_variant: z
    .array(z.enum(['lite', 'fast', 'fast-ref', 'lite-4k', 'fast-4k', 'quality', 'quality-4k']))
    .optional(),
  pricingRules: z
    .array(
      z.strictObject({
        match: z.strictObject({ key: z.enum(['img_size', 'duration']), value: z.union([z.string(), z.int()]) }),
        credits: z.int().min(1),
      }),
    )
    .optional(),
  fields: z
    .array(
      z.strictObject({
        key: z.string(),
        label: z.string(),
        type: z.enum(['enum', 'number', 'boolean']),
        options: z.array(z.union([z.string(), z.number()])).optional(),
        min: z.number().optional(),
        max: z.number().optional(),
        step: z.number().optional(),
        default: z.union([z.string(), z.number(), z.boolean()]).optional(),
        description: z.string().optional(),
      }),
    )
    .optional(),
  examples: z.array(z.strictObject({ label: z.string(), values: z.record(z.string(), z.unknown()) })).optional(),
});

export const Model = z.strictObject({
  id: z.string().min(1),
  object: z.literal('model'),
  type: z.enum(['image', 'video', 'chat']),
  owned_by: z.string().min(1),
  display_name: z.string().min(1),
  group: z.string().min(1),
  capability: z.string().min(1),
  description: z.string().nullable(),
  status: z.string(),
  pricing: z.strictObject({
    unit: z.enum(['request', 'tokens']),
    credits_per_request: z.int(),
    credits_per_1k_input_tokens: z.int(),
    credits_per_1k_output_tokens: z.int(),
    min_credits_per_request: z.int(),
  }),
  parameters: Parameters,
  catalogVisible: z.boolean().optional(),
});
export type Model = z.infer<typeof Model>;
export const ModelList = z.strictObject({ object: z.literal('list'), data: z.array(Model) });

/** Expects an OpenAI error with exactly its four members. */
export function expectRefused(
  { status, body }: Answer,
  wanted: number,
  code: string,
  param: string | null,
  type?: string,
): void {
  expect({ status, body }).toEqual({
    status: wanted,
    body: { error: { message: expect.any(String), type: type ?? expect.any(String), param, code } },
  });
}
