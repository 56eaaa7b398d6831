import type { z } from 'zod';
import type { CatalogEntry } from '../../../domain/catalog/catalog.ts';
import { allNamesOf } from '../../../domain/catalog/model-names.ts';
import { maxOutputTokens } from '../../../domain/chat/chat-length.ts';
import { GatewayError, quoted } from '../../../domain/errors.ts';
import type { ModelForm, ModelQuery } from '../model-form.ts';
import type { AnthropicModel, AnthropicModels } from '../../openapi/schemas/vendor-models.ts';

/**
 * Anthropic's models (https://docs.claude.com/en/api/models-list, read 2026-11-22): chat models. Without a `limit` the list is whole: LibreChat,
 * LobeChat, n8n and Jan read one page, and Anthropic's default of 20 would hide the other models from their users.
 */
export const anthropicModels: ModelForm<z.input<typeof AnthropicModels>, z.input<typeof AnthropicModel>> = {
  name: 'anthropic',
  query: ['limit', 'after_id', 'before_id', 'beta'],
  shows: ({ model }) => model.type === 'chat',
  list(entries, query) {
    const { page, hasMore } = modelPageOf(entries, query);
    return {
      data: page.map(toModel),
      has_more: hasMore,
      first_id: page[0]?.model.id ?? null,
      last_id: page.at(-1)?.model.id ?? null,
    };
  },
  one: toModel,
};

/** With every member of Anthropic's object: its SDKs have no value for a member that is absent. What the catalog does not know is null. */
function toModel(entry: CatalogEntry): z.input<typeof AnthropicModel> {
  const { id, display_name } = entry.model;
  const { ends_on: day, context_tokens } = entry.private;
  return {
    type: 'model',
    id,
    display_name,
    // Anthropic too writes the epoch for a release date that is not known.
    created_at: '1970-01-01T00:00:00Z',
    lifecycle: day === undefined ? 'active' : 'deprecated',
    deprecated_at: null,
    retires_at: day === undefined ? null : `${day}T00:00:00Z`,
    line: null,
    max_input_tokens: context_tokens,
    max_tokens: maxOutputTokens(entry),
    capabilities: null,
  };
}

function modelPageOf(
  entries: readonly CatalogEntry[],
  { limit = entries.length, after_id: after, before_id: before }: ModelQuery,
): { page: readonly CatalogEntry[]; hasMore: boolean } {
  if (after !== undefined && before !== undefined) {
    const message = 'before_id cannot be combined with after_id.';
    throw new GatewayError('invalid_value', { message, param: 'before_id' });
  }
  if (before !== undefined) {
    const end = indexOfModel(entries, 'before_id', before);
    return { page: entries.slice(Math.max(0, end - limit), end), hasMore: end > limit };
  }
  const start = after === undefined ? 0 : indexOfModel(entries, 'after_id', after) + 1;
  return { page: entries.slice(start, start + limit), hasMore: entries.length > start + limit };
}

function indexOfModel(entries: readonly CatalogEntry[], param: string, id: string): number {
  const index = entries.findIndex((entry) => allNamesOf(entry).includes(id));
  if (index >= 0) return index;
  throw new GatewayError('invalid_value', {
    message: `${param}: there is no model ${quoted(id)} in this list.`,
    param,
  });
}
