import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { GatewayError } from '../../../src/domain/errors.ts';
import type { ChatRequest } from '../../../src/domain/chat/chat.ts';
import type { JsonObject } from '../../../src/domain/json.ts';
import { readMessages, readTokenCount } from '../../../src/http/dialects/anthropic/anthropic-chat-request.ts';
import { AnyBase64, Base64 } from '../../../src/http/dialects/base64.ts';
import { readGeminiChat, readV1GeminiChat } from '../../../src/http/dialects/gemini/gemini-chat-request.ts';
import { readOpenaiChat, readV1OpenaiChat } from '../../../src/http/dialects/openai/openai-chat-request.ts';
import { strictly } from '../../../src/http/dialects/reading.ts';
import { readResponses } from '../../../src/http/dialects/responses/responses-request.ts';

const tolerant = { isStrict: false };
/** Requests of so many messages, and of one message of so many parts. */
interface Dialect {
  name: string;
  itemsMax: number;
  read: (body: JsonObject) => ChatRequest;
  messages: (count: number) => JsonObject;
  parts: (count: number) => JsonObject;
}

const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at));
const turn = (at: number) => ({ role: at % 2 === 0 ? 'user' : 'assistant', content: `turn ${at}` });
const textPart = (at: number) => ({ type: 'text', text: `part ${at}` });
const openai = {
  messages: (count: number) => ({ model: 'm', messages: times(count, turn) }),
  parts: (count: number) => ({ model: 'm', messages: [{ role: 'user', content: times(count, textPart) }] }),
};
const anthropic = {
  messages: (count: number) => ({ ...openai.messages(count), max_tokens: 16 }),
  parts: (count: number) => ({ ...openai.parts(count), max_tokens: 16 }),
};
const gemini = {
  messages: (count: number) => ({
    contents: times(count, (at) => ({ role: at % 2 === 0 ? 'user' : 'model', parts: [{ text: `turn ${at}` }] })),
  }),
  parts: (count: number) => ({ contents: [{ parts: times(count, (at) => ({ text: `part ${at}` })) }] }),
};
const responses = {
  messages: (count: number) => ({ model: 'm', input: times(count, turn) }),
  parts: (count: number) => ({
    model: 'm',
    input: [{ role: 'user', content: times(count, (at) => ({ type: 'input_text', text: `part ${at}` })) }],
  }),
};
const dialects: Dialect[] = [
  { name: '/api/v1/chat/completions', itemsMax: 1_000, read: readOpenaiChat, ...openai },
  { name: '/api/v1beta', itemsMax: 1_000, read: (body) => readGeminiChat('m', body), ...gemini },
  { name: '/v1/chat/completions', itemsMax: 10_000, read: (body) => readV1OpenaiChat(body, tolerant), ...openai },
  { name: '/v1/messages', itemsMax: 10_000, read: (body) => readMessages(body, tolerant), ...anthropic },
  { name: '/v1/messages/count_tokens', itemsMax: 10_000, read: (body) => readTokenCount(body, tolerant), ...anthropic },
  { name: '/v1/responses', itemsMax: 10_000, read: (body) => readResponses(body, tolerant), ...responses },
  { name: '/v1beta', itemsMax: 10_000, read: (body) => readV1GeminiChat('m', body, tolerant), ...gemini },
  { name: '/v1/messages, strictly', itemsMax: 10_000, read: (body) => readMessages(body, strictly), ...anthropic },
];

function codeOf(read: () => unknown): string {
  try {
    read();
    return 'accepted';
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return error.code;
  }
}

describe.each(dialects)('a chat for $name', ({ itemsMax, read, messages, parts }) => {
  it(`may have ${itemsMax} messages and as many parts in one, in their order`, () => {
    const long = read(messages(itemsMax)).messages;
    expect(long).toHaveLength(itemsMax);
    expect(JSON.stringify(long.at(-1)?.content)).toContain(`turn ${itemsMax - 1}`);
    const [{ content = null } = {}] = read(parts(itemsMax)).messages;
    expect(content).toHaveLength(itemsMax);
    expect(JSON.stringify(content?.at(-1))).toContain(`part ${itemsMax - 1}`);
  });

  it('is refused with one more', () => {
    expect(codeOf(() => read(messages(itemsMax + 1)))).toBe('invalid_value');
    expect(codeOf(() => read(parts(itemsMax + 1)))).toBe('invalid_value');
  });
});

describe('a picture in base64', () => {
  const isAccepted = (schema: typeof Base64, text: string): boolean => schema.safeParse(text).success;
  const texts = fc.string({
    unit: fc.constantFrom(...'ABab09+/-_==\n é\u0141\u4141*'),
    maxLength: 24,
  });

  it('is what its alphabet allows', () => {
    const standard = /^(?:[\w+/]{4})*(?:[\w+/]{2}==|[\w+/]{3}=)?$/;
    fc.assert(
      fc.property(texts, fc.constantFrom('', 'AAAA'.repeat(70_000)), (text, before) => {
        const whole = before + text;
        expect(isAccepted(Base64, whole)).toBe(whole !== '' && !whole.includes('_') && standard.test(whole));
        expect(isAccepted(AnyBase64, whole)).toBe(/^[\w+/-]+={0,2}$/.test(whole));
      }),
    );
  });

  it('may be as long as a body', () => {
    expect(isAccepted(Base64, 'AbC9'.repeat(7_900_000))).toBe(true);
    expect(isAccepted(Base64, `${'AbC9'.repeat(7_900_000)}AA*A`)).toBe(false);
  });
});
