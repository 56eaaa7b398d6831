import { describe, expect, it } from '@jest/globals';
import type { ChatMessage, ChatRequest } from '../../../src/domain/chat/chat.ts';
import { conversationOf } from '../../../src/domain/chat/conversation.ts';

const user = (content: ChatMessage['content'] & (string | object)): ChatMessage => ({ role: 'user', content });
const opening: ChatMessage[] = [{ role: 'system', content: 'Be brief.' }, user('Why is the sky blue?')];
const request = (over: Partial<ChatRequest> = {}): ChatRequest => ({
  model: 'gpt-5-mini',
  messages: opening,
  tools: [],
  maxTokens: 100,
  extra: {},
  ...over,
});
const nameOf = (over: Partial<ChatRequest> = {}, sessionId?: string): string =>
  conversationOf(request(over), { sessionId });
const long = 'x'.repeat(10_000);

describe('conversationOf', () => {
  const sameConversation: Record<string, Partial<ChatRequest>> = {
    'a later turn': {
      messages: [...opening, { role: 'assistant', content: 'Rayleigh.', toolCalls: [] }, user('More.')],
    },
    'other settings': { maxTokens: 9, temperature: 1, extra: { reasoning_effort: 'low' } },
  };
  it.each(Object.entries(sameConversation))('names the same conversation for %s', (_, over) => {
    expect(nameOf(over)).toBe(nameOf());
  });

  const others: Record<string, Partial<ChatRequest>> = {
    'another first question': { messages: [opening[0]!, user('Why is it red?')] },
    'other instructions': { messages: [{ role: 'system', content: 'Be long.' }, opening[1]!] },
    'other tools': { tools: [{ name: 'read' }] },
    'a picture in the first question': {
      messages: [opening[0]!, user([{ type: 'image', url: 'https://example.com/a.png' }])],
    },
    'another length of a long question': { messages: [opening[0]!, user(long)] },
    'a cache key': { extra: { prompt_cache_key: 'a' } },
    'another cache key': { extra: { prompt_cache_key: 'b' } },
    'no messages of a user': { messages: [opening[0]!] },
  };
  it('names another conversation for each other opening', () => {
    const names = [nameOf(), ...Object.values(others).map((over) => nameOf(over)), nameOf({}, 'a'), nameOf({}, 'b')];
    expect(new Set(names).size).toBe(names.length);
  });

  it('tells long texts apart by their end', () => {
    const names = ['a', 'b'].map((end) => nameOf({ messages: [user(`${long}${end}`)] }));
    expect(names[0]).not.toBe(names[1]);
  });

  it('follows the cache key before the session, and the session before the opening', () => {
    const other = { messages: [user('Something else.')] };
    expect(nameOf(other, 'session')).toBe(nameOf({}, 'session'));
    const keyed = { extra: { prompt_cache_key: 'key' } };
    expect(nameOf({ ...other, ...keyed }, 'one')).toBe(nameOf(keyed, 'two'));
  });

  it('reads a bounded part of an opening of any size', () => {
    const parts = Array.from({ length: 1_000 }, () => ({ type: 'text' as const, text: long }));
    const tools = Array.from({ length: 1_000 }, () => ({ name: long }));
    expect(nameOf({ messages: [{ role: 'system', content: parts }, user(parts)], tools }).length).toBeLessThan(600_000);
  });
});
