import { describe, expect, it } from '@jest/globals';
import { loadCatalog } from '../../../src/services/catalog/load-catalog.ts';
import type { ChatRequest } from '../../../src/domain/chat/chat.ts';
import { clampLength } from '../../../src/domain/chat/chat-length.ts';

const [entry] = (await loadCatalog('catalog')).entries.filter(({ model }) => model.type === 'chat');
if (!entry) throw new Error('the catalog has no chat model');
const { max_output_tokens: _, ...hidden } = entry.private;
const unlimited = { ...entry, private: hidden };
const writing = (max_output_tokens: number) => ({ ...entry, private: { ...entry.private, max_output_tokens } });
const asking = (maxTokens: number, more: Partial<ChatRequest> = {}): ChatRequest => ({
  model: 'm',
  messages: [{ role: 'user', content: 'Hi' }],
  tools: [],
  maxTokens,
  extra: {},
  ...more,
});

describe('a length that is clamped to the model', () => {
  it.each([
    [unlimited, 8_192, 8_192, false],
    [unlimited, 8_193, 8_192, true],
    [unlimited, Number.MAX_SAFE_INTEGER, 8_192, true],
    [writing(64_000), 64_000, 64_000, false],
    [writing(64_000), 64_001, 64_000, true],
    [writing(100), 1, 1, false],
    [writing(100), 101, 100, true],
  ])('is at most what the model writes (%#)', (of, requestedLength, maxTokens, isClamped) => {
    expect(clampLength(asking(requestedLength), of)).toEqual({ request: asking(maxTokens), isClamped });
  });

  it.each([
    [1, 16, true],
    [15, 16, true],
    [16, 16, false],
  ])('is at least what OpenAI’s Responses API takes: %i', (requestedLength, maxTokens, isClamped) => {
    const upstream = { openai: { model: 'm', parameters: {}, cost: {}, api: 'responses' } } as unknown;
    const served = { ...entry, private: { ...hidden, upstream: upstream as typeof hidden.upstream } };
    expect(clampLength(asking(requestedLength), served)).toEqual({ request: asking(maxTokens), isClamped });
  });

  it('is not told of where the client asked for no length', () => {
    const { request, isClamped } = clampLength(asking(1_024, { isDefaultLength: true }), writing(100));
    expect({ length: request.maxTokens, isClamped }).toEqual({ length: 100, isClamped: false });
  });
});
