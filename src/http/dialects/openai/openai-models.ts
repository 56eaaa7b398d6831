import type { z } from 'zod';
import type { CatalogEntry } from '../../../domain/catalog/catalog.ts';
import { chatFirst } from '../../../domain/catalog/model-list.ts';
import type { ModelForm } from '../model-form.ts';
import type { OpenaiModel, OpenaiModels } from '../../openapi/schemas/vendor-models.ts';

/** OpenAI's models (https://platform.openai.com/docs/api-reference/models, read 2026-11-22). Its list has no pages: `limit` takes its first models. */
export const openaiModels: ModelForm<z.input<typeof OpenaiModels>, z.input<typeof OpenaiModel>> = {
  name: 'openai',
  query: ['limit', 'user'],
  shows: () => true,
  list: (entries, { limit = entries.length }) => ({
    object: 'list',
    data: chatFirst(entries).slice(0, limit).map(toModel),
  }),
  one: toModel,
};

function toModel({ model, private: { context_tokens } }: CatalogEntry): z.input<typeof OpenaiModel> {
  const { id, type, owned_by, display_name, description } = model;
  return {
    id,
    object: 'model',
    // The catalog does not know when a vendor released a model. Clients expect a number.
    created: 0,
    owned_by,
    supported_endpoint_types: endpointTypes[type],
    // In the words of OpenRouter, whose clients demand the first two.
    name: display_name,
    description: description ?? '',
    context_length: context_tokens,
  };
}

/** The words of new-api, whose clients choose a route by them. Every chat model is served in all dialects. */
const endpointTypes = {
  chat: ['openai', 'openai-response', 'anthropic', 'gemini'],
  image: ['image-generation'],
  video: ['openai-video'],
} satisfies Record<CatalogEntry['model']['type'], string[]>;
