import { describe, expect, it } from '@jest/globals';
import type { ChatReply, ChatRequest } from '../../../src/domain/chat/chat.ts';
import { thinkingBudget, thinksFirst, thoughtOnly } from '../../../src/domain/chat/reasoning.ts';

const reply = (more: Partial<ChatReply>): ChatReply => ({
  content: null,
  refusal: null,
  toolCalls: [],
  finishReason: 'stop',
  usage: { inputTokens: 5, outputTokens: 100, reasoningTokens: 100 },
  ...more,
});

describe('an answer without text', () => {
  it.each<[string, Partial<ChatReply>]>([
    ['whose tokens were all thoughts', {}],
    ['that was cut', { finishReason: 'length', usage: { inputTokens: 5, outputTokens: 100 } }],
    ['that has only thoughts', { content: '', reasoning: 'Hm.', usage: { inputTokens: 5, outputTokens: 9 } }],
  ])('%s was cut, and the client learns why', (_name, more) => {
    expect(thoughtOnly(reply(more))).toEqual({
      reply: reply({ ...more, finishReason: 'length' }),
      warning: expect.stringContaining('wrote no text'),
    });
  });

  it.each<[string, Partial<ChatReply>]>([
    ['has text', { content: 'Hi.' }],
    ['has a tool call', { toolCalls: [{ id: 'c', name: 'f', arguments: '{}' }], finishReason: 'tool_calls' }],
    ['has a refusal', { refusal: 'No.' }],
    ['was filtered', { finishReason: 'content_filter' }],
    ['has no tokens', { usage: { inputTokens: 5, outputTokens: 0 } }],
    ['has no usage', { usage: null }],
    ['ended without a thought', { usage: { inputTokens: 5, outputTokens: 3 } }],
  ])('is left as it is if it %s', (_name, more) => {
    expect(thoughtOnly(reply(more))).toBeNull();
  });
});

describe('the sentence about an answer without text', () => {
  it('names the tokens that leave room for text, if the client allowed fewer', () => {
    expect(thoughtOnly(reply({}), 1_024)?.warning).toContain('Allow at least 1024 max_tokens');
    expect(thoughtOnly(reply({}))?.warning).toContain('Allow more max_tokens');
  });
});

describe('the budget for thoughts', () => {
  it('leaves at least half of the answer for text, and is null if the model cannot think in the rest', () => {
    expect(thinkingBudget('high', 8_192, 1_024)).toBe(4_096);
    expect(thinkingBudget('high', 4_000, 1_024)).toBe(2_000);
    expect(thinkingBudget('minimal', 8_192, 1_024)).toBe(1_024);
    expect(thinkingBudget('max', 2_047, 1_024)).toBeNull();
  });
});

describe('a model', () => {
  const request = { extra: {} } as ChatRequest;

  it.each<[string, Partial<ChatRequest>, boolean]>([
    ['is asked for nothing', {}, false],
    ['is asked for an effort', { extra: { reasoning_effort: 'low' } }, true],
    ['is asked for no effort', { extra: { reasoning_effort: 'none' } }, false],
    ['is given a budget for thoughts', { gemini: { thinkingConfig: { thinkingBudget: 512 } } }, true],
    ['is given no budget for thoughts', { gemini: { thinkingConfig: { thinkingBudget: 0 } } }, false],
  ])('that %s thinks first: %s', (_name, more, thinks) => {
    expect(thinksFirst({ ...request, ...more }, undefined)).toBe(thinks);
    expect(thinksFirst({ ...request, ...more }, { min: 1_024, default: 4_096 })).toBe(true);
  });
});
