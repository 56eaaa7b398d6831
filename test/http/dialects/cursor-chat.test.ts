import { describe, expect, it } from '@jest/globals';
import type { ChatReply } from '../../../src/domain/chat/chat.ts';
import { isContent, toDeltas } from '../../../src/domain/chat/chat-stream.ts';
import type { JsonObject } from '../../../src/domain/json.ts';
import { isCursorChat, readCursorChat } from '../../../src/http/dialects/openai/cursor-chat.ts';
import { openaiCompletion } from '../../../src/http/dialects/openai/openai-chat-reply.ts';
import { openaiStream } from '../../../src/http/dialects/openai/openai-chat-stream.ts';

const tolerantly = { isStrict: false };
const read = (more: JsonObject) => readCursorChat({ model: 'm', stream: true, ...more }, tolerantly);
const patch = '*** Begin Patch\n*** Add File: a\n+b\n*** End Patch';
const format = { type: 'grammar', syntax: 'lark', definition: 'start: "x"' };
const tools: Record<'flat' | 'nested', JsonObject[]> = {
  flat: [
    { type: 'custom', name: 'ApplyPatch', description: 'Edits.', format },
    { type: 'function', name: 'look', description: 'Looks.', parameters: { type: 'object' } },
  ],
  nested: [
    { type: 'custom', custom: { name: 'ApplyPatch', description: 'Edits.', format } },
    { type: 'function', function: { name: 'look', description: 'Looks.', parameters: { type: 'object' } } },
  ],
};
const input: JsonObject[] = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: [{ type: 'input_text', text: 'hello' }] },
  { type: 'function_call', call_id: 'c1', name: 'ApplyPatch', arguments: patch },
  { type: 'function_call_output', call_id: 'c1', output: 'done' },
];
const messages: JsonObject[] = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'hello' },
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'c1', type: 'function', function: { name: 'ApplyPatch', arguments: patch } }],
  },
  { role: 'tool', tool_call_id: 'c1', content: 'done' },
];

describe("a chat completion in Cursor's words", () => {
  it.each<[string, JsonObject]>([
    ['an input and no messages', { input: 'hello' }],
    ['an input and empty messages', { input, messages: [] }],
    ['messages and a flat tool', { messages, tools: tools.flat }],
  ])('is recognised by %s', (_what, body) => {
    expect(isCursorChat(body)).toBe(true);
  });

  it.each<[string, JsonObject]>([
    ['messages', { messages }],
    ['messages beside an input', { messages, input }],
    ['tools of chat completions', { messages, tools: tools.nested }],
    ['nothing', {}],
  ])('is not recognised in %s', (_what, body) => {
    expect(isCursorChat(body)).toBe(false);
  });

  it.each([
    ['input', 'flat'],
    ['input', 'nested'],
    ['messages', 'flat'],
  ] as const)('with its conversation in %s is read with %s tools', (conversation, form) => {
    const [custom, lookup] = tools[form];
    const choice = { type: 'function', ...(form === 'flat' ? { name: 'look' } : { function: { name: 'look' } }) };
    const request = read({
      ...(conversation === 'input' ? { input, messages: [] } : { messages }),
      tools: [custom ?? null, lookup ?? null],
      tool_choice: choice,
      max_tokens: 50,
      stream_options: { include_usage: true, include_obfuscation: false },
    });
    expect(request).toMatchObject({
      maxTokens: 50,
      toolChoice: { name: 'look' },
      tools: [
        { name: 'ApplyPatch', custom: { description: 'Edits.', format } },
        { name: 'look', description: 'Looks.' },
      ],
    });
    expect(request.messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool']);
    const calls = request.messages.flatMap((message) => (message.role === 'assistant' ? message.toolCalls : []));
    expect(calls).toEqual([
      { id: 'c1', name: 'ApplyPatch', arguments: JSON.stringify({ input: patch }), isCustom: true },
    ]);
    expect(request.leftOut).toEqual([]);
  });

  it('names nothing as left out that it reads, and takes its reasoning', () => {
    expect(read({ input: 'hello', reasoning: { effort: 'high' }, text: { verbosity: 'low' } })).toMatchObject({
      messages: [{ role: 'user', content: 'hello' }],
      extra: { reasoning_effort: 'high', verbosity: 'low' },
      leftOut: [],
    });
  });

  it('is answered with a function call whose arguments are the free text, whole and streamed', () => {
    const request = read({ input, tools: tools.flat });
    const reply: ChatReply = {
      content: null,
      refusal: null,
      toolCalls: [{ id: 'c2', name: 'ApplyPatch', arguments: JSON.stringify({ input: patch }) }],
      finishReason: 'tool_calls',
      usage: null,
    };
    const about = { id: 'x', requestId: 'req_1', created: 1, model: 'm', inputTokens: 1 };
    const answer = { ...about, reply, usage: { input: 1, output: 1 } };
    const call = { id: 'c2', type: 'function', function: { name: 'ApplyPatch', arguments: patch } };

    const whole = openaiCompletion(answer, request.tools, 'function');
    expect(whole.choices[0]?.message.tool_calls).toEqual([call]);

    const writer = openaiStream({ ...about, includeUsage: false }, request.tools, 'function');
    const events =
      writer.pieces(toDeltas(reply).filter(isContent)) + writer.end({ ...answer, credits: 1, attempts: 1 });
    expect(events).toContain(JSON.stringify({ index: 0, ...call }));
  });
});
