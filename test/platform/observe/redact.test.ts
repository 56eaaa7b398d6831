import { expect, it } from '@jest/globals';
import { genAiInput, genAiOutput } from '../../../src/main/gen-ai-content.ts';
import { redact } from '../../../src/platform/observe/redact.ts';

it.each([
  ['a key of a gateway or a provider', `use sk-${'x'.repeat(46)} now`, 'use [key] now'],
  ['a key of Anthropic', `sk-ant-api03-${'x'.repeat(40)}`, '[key]'],
  ['a token of GitHub', `ghp_${'x'.repeat(36)}`, '[key]'],
  ['a key of Google', `AIza${'x'.repeat(35)}`, '[key]'],
  ['a key of AWS', 'AKIAIOSFODNN7EXAMPLE0', '[key]'],
  ['a bearer token', 'Authorization: Bearer abcdefghijklmnop', 'Authorization: Bearer [key]'],
  ['a JSON web token', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0abc.sig_nature', '[key]'],
  ['a password', 'password: hunter2hunter2', 'password: [key]'],
  ['a secret in JSON', '{"api_key": "abcdef123456"}', '{"api_key": "[key]"}'],
  ['a private key', '-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----', '[key]'],
  ['an email address', 'write to jörg.müller+x@post.example.de!', 'write to [email]!'],
  ['the number of a card', '4111-1111-1111-1111 or 378282246310005', '[card] or [card]'],
  ['a data URI', 'see data:text/plain;base64,aGVsbG8= there', 'see [data] there'],
])('redacts %s', (_what, text, redacted) => {
  expect(redact(text)).toBe(redacted);
});

it.each([
  '4111111111111112 is no card',
  'see https://example.com/a?b=c',
  'at 12:30 on 2030-01-31',
  '1234 5678',
  'user@',
  'the token was lost',
])('leaves what is no secret: %s', (text) => expect(redact(text)).toBe(text));

it('bounds each text and each attribute, and keeps the newest messages', () => {
  const messages = Array.from({ length: 40 }, (_, n) => ({
    role: 'user' as const,
    content: `${n} ${'x'.repeat(5_000)}`,
  }));
  const request = { model: 'm', messages, tools: [], maxTokens: 1, extra: {}, traceContent: 'redacted' as const };
  const text = String(genAiInput(request)['gen_ai.input.messages']);
  expect(text.length).toBeLessThanOrEqual(16_000);
  expect(text).toContain('"39 xxx');
  expect(text).toContain('(5003 characters)');
  expect(text).not.toContain('"0 xxx');
  const { traceContent: _none, ...silent } = request;
  expect(genAiInput(silent)).toEqual({});
  expect(genAiOutput({}, { content: 'hello', toolCalls: [], finishReason: 'stop' })).toEqual({});
});

it('names the calls of tools and their results, redacted too', () => {
  const call = { id: 'call_1', name: 'mail', arguments: '{"to":"ada@example.com"}' };
  const facts = genAiInput({
    model: 'm',
    messages: [
      { role: 'assistant', content: null, toolCalls: [call] },
      { role: 'tool', toolCallId: 'call_1', content: 'sent to ada@example.com' },
    ],
    tools: [],
    maxTokens: 1,
    extra: {},
    traceContent: 'redacted',
  });
  expect(JSON.parse(String(facts['gen_ai.input.messages']))).toEqual([
    { role: 'assistant', parts: [{ type: 'tool_call', id: 'call_1', name: 'mail', arguments: '{"to":"[email]"}' }] },
    { role: 'tool', parts: [{ type: 'tool_call_response', id: 'call_1', response: 'sent to [email]' }] },
  ]);
});
