import { CatalogError } from '../../../src/services/catalog/catalog-error.ts';
import { parseCatalog } from '../../../src/services/catalog/load-catalog.ts';
import { stringify } from 'yaml';

type Tree = { [key: string]: Tree } & Record<string, unknown>;

/** A valid image model, of which each test changes one member. */
export const image = (): Record<string, unknown> => ({
  id: 'pic-1',
  object: 'model',
  type: 'image',
  owned_by: 'acme',
  display_name: 'Pic',
  group: 'Pic',
  capability: 'image',
  description: null,
  status: 'active',
  pricing: {
    unit: 'request',
    credits_per_request: 4,
    min_credits_per_request: 4,
    credits_per_1k_input_tokens: 0,
    credits_per_1k_output_tokens: 0,
  },
  parameters: {
    prompt: true,
    variants: true,
    img_size: ['1k', '2k'],
    acme_variant: ['lite', 'pro'],
    pricingRules: [
      { match: { key: 'img_size', value: '1k' }, credits: 4 },
      { match: { key: 'img_size', value: '2k' }, credits: 6 },
    ],
    fields: [{ key: 'img_size', label: 'Size', type: 'enum', options: ['1k', '2k'], default: '1k' }],
    examples: [{ label: 'Fox', values: { prompt: 'a fox', img_size: '2k' } }],
  },
  private: {
    groups: ['images'],
    variant_field: 'acme_variant',
    aliases: { 'pic-old': { img_size: '2k' } },
    upstream: {
      fal: {
        model: 'fal-ai/pic',
        cost: { per_request: 1 },
        parameters: { img_size: { name: 'size', values: { '1k': 1024 } } },
      },
    },
  },
});

export const chat = (): Record<string, unknown> => ({
  ...image(),
  id: 'chat-1',
  type: 'chat',
  capability: 'chat',
  pricing: {
    unit: 'tokens',
    credits_per_request: 1,
    min_credits_per_request: 1,
    credits_per_1k_input_tokens: 1,
    credits_per_1k_output_tokens: 2,
  },
  parameters: {
    messages: true,
    stream: false,
    temperature: true,
    max_tokens: true,
    fields: [
      { key: 'temperature', label: 'T', type: 'number', min: 0, max: 2, step: 0.1, default: 0.7 },
      { key: 'max_tokens', label: 'M', type: 'number', min: 16, max: 8192, step: 16, default: 1024 },
    ],
    examples: [{ label: 'Hi', values: { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 100 } }],
  },
  private: {
    groups: ['chat'],
    context_tokens: 1000,
    upstream: { openai: { model: 'chat', cost: { per_million: { input: 1, output: 1 } } } },
  },
});

/** Replaces one member of the entry; `undefined` removes it. */
export function withMember(entry: Record<string, unknown>, path: string, value: unknown): Record<string, unknown> {
  const keys = path.split('.');
  const last = keys.pop() ?? '';
  let at = entry as Tree;
  for (const key of keys) at = at[key] ?? at;
  if (value === undefined) Reflect.deleteProperty(at, last);
  else Reflect.set(at, last, value);
  return entry;
}

export const parse = (...models: unknown[]) => parseCatalog(stringify({ models }, { aliasDuplicateObjects: false }));

export function problemsOf(run: () => unknown): string[] {
  try {
    run();
  } catch (error) {
    if (error instanceof CatalogError)
      return error.problems.map(({ model, path, message }) => `${model} ${path} ${message}`);
    throw error;
  }
  return [];
}
