import { z } from 'zod';

export const OpenaiModel = z
  .object({
    id: z.string(),
    object: z.literal('model'),
    created: z.int(),
    owned_by: z.string(),
    supported_endpoint_types: z.array(z.string()),
    name: z.string(),
    description: z.string(),
    context_length: z.int().nullable().describe('Null if the catalog does not know it.'),
  })
  .meta({ id: 'OpenaiModel' });

export const AnthropicModel = z
  .object({
    type: z.literal('model'),
    id: z.string(),
    display_name: z.string(),
    created_at: z.string(),
    lifecycle: z
      .enum(['active', 'deprecated'])
      .describe('`deprecated` once the day is known on which it is not sold any more.'),
    deprecated_at: z.null(),
    retires_at: z.string().nullable().describe('The first moment at which it is not sold any more.'),
    line: z.null(),
    max_input_tokens: z.int().nullable(),
    max_tokens: z.int(),
    capabilities: z.null(),
  })
  .meta({ id: 'AnthropicModel' });

export const GeminiModel = z
  .object({
    name: z.string(),
    version: z.string(),
    displayName: z.string(),
    description: z.string().optional(),
    inputTokenLimit: z.int().optional().describe('Absent if the catalog does not know it.'),
    outputTokenLimit: z.int(),
    supportedGenerationMethods: z.array(z.string()),
  })
  .meta({ id: 'GeminiModel' });

export const GeminiModels = z
  .object({ models: z.array(GeminiModel), nextPageToken: z.string().optional() })
  .meta({ id: 'GeminiModels' });

/** A model in the shape of the vendor whose SDK asks. */
export const VendorModel = z.union([OpenaiModel, AnthropicModel, GeminiModel]);

export const OpenaiModels = z.object({ object: z.literal('list'), data: z.array(OpenaiModel) });
export const AnthropicModels = z.object({
  data: z.array(AnthropicModel),
  has_more: z.boolean(),
  first_id: z.string().nullable(),
  last_id: z.string().nullable(),
});

/** The list of models in the shape of the vendor whose SDK asks. */
export const VendorModels = z.union([OpenaiModels, AnthropicModels, GeminiModels]);
