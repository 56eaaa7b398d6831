import { describe, expect, it } from '@jest/globals';
import { createAdapters } from '../../../src/adapters/registry.ts';
import { loadCatalog } from '../../../src/services/catalog/load-catalog.ts';
import { prepareChat } from '../../../src/services/chat/prepare-chat.ts';
import type { CatalogEntry, UpstreamMapping } from '../../../src/domain/catalog/catalog.ts';
import type { ChatRequest } from '../../../src/domain/chat/chat.ts';
import { createEgress } from '../../../src/platform/egress/egress.ts';

const adapters = createAdapters({
  call: () => Promise.reject(new Error('nothing is called')),
  stream: () => Promise.reject(new Error('nothing is called')),
  close: () => Promise.resolve(),
});
const { entries } = await loadCatalog('test/support/catalog');
const entryOf = (family: string, more: Partial<UpstreamMapping>): CatalogEntry => {
  const entry = entries.find(({ model, private: hidden }) => model.type === 'chat' && hidden.upstream[family]);
  const mapping = entry?.private.upstream[family];
  if (!entry || !mapping) throw new Error(`no chat model of ${family}`);
  return { ...entry, private: { ...entry.private, upstream: { [family]: { ...mapping, ...more } } } };
};
const asking = (more: Partial<ChatRequest> = {}): ChatRequest => ({
  model: 'm',
  messages: [{ role: 'user', content: 'Hi' }],
  tools: [],
  maxTokens: 1_024,
  extra: {},
  ...more,
});
const prepare = (entry: CatalogEntry, request: ChatRequest) =>
  prepareChat({ adapters, egress: createEgress({ allowCidrs: [], callbackPorts: [] }) }, entry, request);

describe('a chat with the thoughts of an earlier answer', () => {
  const thinking = asking({
    messages: [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'Hello', toolCalls: [], reasoning: 'They greet me. '.repeat(100) },
    ],
  });
  const without = asking({
    messages: [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'Hello', toolCalls: [] },
    ],
  });

  it('holds no credits for thoughts that no provider is sent', () => {
    const entry = entryOf('openai', {});
    expect(prepare(entry, thinking)).toEqual(prepare(entry, without));
  });

  it('holds credits for thoughts that are sent back', () => {
    const entry = entryOf('openai', { keeps_reasoning: true });
    const kept = prepare(entry, thinking);
    expect(kept.request).toEqual(thinking);
    expect(kept.hold.inputTokens).toBe(prepare(entry, without).hold.inputTokens + 750);
  });
});

describe('a chat with a model whose thoughts count as tokens', () => {
  const { max_tokens: _, ...hidden } = entryOf('openai', {}).private;
  const entry: CatalogEntry = { ...entryOf('openai', {}), private: hidden };
  const thinking: CatalogEntry = { ...entry, private: { ...entry.private, max_tokens: { min: 256, default: 4_096 } } };
  const lengthOf = (more: Partial<ChatRequest>, of = thinking) => {
    const { request, hold } = prepare(of, asking(more));
    expect(hold.outputTokens).toBe(request.maxTokens);
    return request.maxTokens;
  };

  it('has the default length of the model if the client names none', () => {
    expect(lengthOf({ isDefaultLength: true })).toBe(4_096);
    expect(lengthOf({ isDefaultLength: true }, entry)).toBe(1_024);
  });

  it('keeps the length that its client names, because that bounds what the client pays', () => {
    for (const maxTokens of [16, 256, 8_192]) expect(lengthOf({ maxTokens })).toBe(maxTokens);
  });
});
