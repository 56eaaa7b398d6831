import { expect, it } from '@jest/globals';
import type { CatalogEntry } from '../../../src/domain/catalog/catalog.ts';
import { isAllowed } from '../../../src/domain/catalog/model-names.ts';

const entry = (type: 'chat' | 'image', id: string, ...aliases: string[]): CatalogEntry =>
  ({
    model: { id, type },
    private: { aliases: Object.fromEntries(aliases.map((alias) => [alias, {}])) },
  }) as unknown as CatalogEntry;

it.each([
  [null, entry('chat', 'gpt-5-mini'), true],
  [['gpt-5-mini'], entry('chat', 'gpt-5-mini'), true],
  [['gpt-5'], entry('chat', 'gpt-5-mini'), false],
  [['gpt-*'], entry('chat', 'gpt-5-mini'), true],
  [['gpt-?-mini'], entry('chat', 'gpt-5-mini'), true],
  [['*'], entry('image', 'aurora-image-1'), true],
  [['claude-*', 'gpt-6'], entry('chat', 'gpt-5-mini'), false],
  [['openai/*'], entry('chat', 'gpt-5-mini', 'openai/gpt-5-mini'), true],
  [['aurora'], entry('image', 'aurora-image-1', 'aurora'), false],
  [['*-4k'], entry('image', 'aurora-image-1', 'aurora-4k'), false],
  [['gpt.5-mini'], entry('chat', 'gpt-5-mini'), false],
  [[], entry('chat', 'gpt-5-mini'), false],
] as const)('a key with the models %j allows a model by its names, or by a glob of them', (models, model, expected) => {
  expect(isAllowed(models, model)).toBe(expected);
});
