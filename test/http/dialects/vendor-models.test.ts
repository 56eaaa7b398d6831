import { describe, expect, it } from '@jest/globals';
import type Anthropic from '@anthropic-ai/sdk';
import type OpenAI from 'openai';
import type { CatalogEntry } from '../../../src/domain/catalog/catalog.ts';
import { anthropicModels } from '../../../src/http/dialects/anthropic/anthropic-models.ts';
import { openaiModels } from '../../../src/http/dialects/openai/openai-models.ts';
import { loadCatalog } from '../../../src/services/catalog/load-catalog.ts';

const { entries } = await loadCatalog('catalog');
const chatModels = entries.filter(({ model }) => model.type === 'chat');

// The types of the SDKs are the vendors' own schemas: tsc refuses a model that lacks one of their members.
const asAnthropic = (entry: CatalogEntry): Anthropic.ModelInfo => anthropicModels.one(entry);
const asOpenai = (entry: CatalogEntry): OpenAI.Model => openaiModels.one(entry);

/** Models in the shapes of the vendors, whose typed clients fail at a member that is absent. */
describe('a model', () => {
  it.each(chatModels.map((entry) => [entry.model.id, entry] as const))(
    '%s has the tokens and the life of its catalog entry for Anthropic',
    (id, entry) => {
      expect(asAnthropic(entry)).toEqual({
        type: 'model',
        id,
        display_name: entry.model.display_name,
        created_at: '1970-01-01T00:00:00Z',
        lifecycle: 'active',
        deprecated_at: null,
        retires_at: null,
        line: null,
        max_input_tokens: entry.private.context_tokens,
        max_tokens: entry.private.max_output_tokens ?? 8_192,
        capabilities: null,
      });
    },
  );

  it('is deprecated for Anthropic once its last day is known', () => {
    const [entry] = chatModels;
    if (!entry) throw new Error('there is no chat model');
    const ending = { ...entry, private: { ...entry.private, ends_on: '2099-01-31' } };
    expect(asAnthropic(ending)).toMatchObject({ lifecycle: 'deprecated', retires_at: '2099-01-31T00:00:00Z' });
  });

  it('has the members of OpenAI, and those without which clients of OpenRouter fail', () => {
    for (const entry of entries) {
      const { id, owned_by, display_name: name } = entry.model;
      const members = { id, object: 'model', created: expect.any(Number), owned_by };
      const ofOpenRouter = { name, description: expect.any(String), context_length: entry.private.context_tokens };
      expect(asOpenai(entry)).toMatchObject({ ...members, ...ofOpenRouter });
    }
  });
});
