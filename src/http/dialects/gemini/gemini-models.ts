import type { z } from 'zod';
import type { CatalogEntry } from '../../../domain/catalog/catalog.ts';
import { chatFirst } from '../../../domain/catalog/model-list.ts';
import { promptCharactersMax } from '../../../domain/catalog/parameters.ts';
import { maxOutputTokens } from '../../../domain/chat/chat-length.ts';
import { GatewayError, quoted } from '../../../domain/errors.ts';
import { nonNullFields } from '../chat-fields.ts';
import type { ModelForm } from '../model-form.ts';
import type { GeminiModel, GeminiModels } from '../../openapi/schemas/vendor-models.ts';

/**
 * Google's models (https://ai.google.dev/api/models, read 2026-11-22): those that `generateContent` takes, in pages. The token of a page
 * is the last id of the page before it.
 */
export const geminiModels: ModelForm<z.input<typeof GeminiModels>, z.input<typeof GeminiModel>> = {
  name: 'gemini',
  query: ['pageSize', 'pageToken'],
  shows: ({ model }) => model.type !== 'video',
  list(usable, { pageSize: size = 50, pageToken: token }) {
    const entries = chatFirst(usable);
    const start = token === undefined ? 0 : entries.findIndex(({ model }) => model.id === token) + 1;
    if (token !== undefined && start === 0) {
      const message = `pageToken: ${quoted(token)} is not a token of this list.`;
      throw new GatewayError('invalid_value', { message, param: 'pageToken' });
    }
    const page = entries.slice(start, start + size);
    const hasMore = entries.length > start + size;
    return { models: page.map(toModel), ...nonNullFields({ nextPageToken: hasMore ? page.at(-1)?.model.id : null }) };
  },
  one: toModel,
};

function toModel(entry: CatalogEntry) {
  const { id, display_name, description, type } = entry.model;
  return {
    name: `models/${id}`,
    version: id,
    displayName: display_name,
    ...nonNullFields({
      description,
      // Some clients demand both limits. Prompts for pictures are limited in characters, of which a token has about four.
      inputTokenLimit: type === 'chat' ? entry.private.context_tokens : promptCharactersMax / 4,
    }),
    outputTokenLimit: type === 'chat' ? maxOutputTokens(entry) : 0,
    supportedGenerationMethods: [
      'generateContent',
      'streamGenerateContent',
      type === 'image' ? 'predict' : 'countTokens',
    ],
  };
}
