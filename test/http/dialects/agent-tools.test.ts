import { describe, expect, it } from '@jest/globals';
import type { ChatReply } from '../../../src/domain/chat/chat.ts';
import { isContent, toDeltas } from '../../../src/domain/chat/chat-stream.ts';
import type { JsonObject } from '../../../src/domain/json.ts';
import { openaiCompletion } from '../../../src/http/dialects/openai/openai-chat-reply.ts';
import { readOpenaiChat } from '../../../src/http/dialects/openai/openai-chat-request.ts';
import { openaiStream } from '../../../src/http/dialects/openai/openai-chat-stream.ts';
import { responseObject } from '../../../src/http/dialects/responses/responses-reply.ts';
import { responsesStream } from '../../../src/http/dialects/responses/responses-stream.ts';
import { readBy, refusalOf } from './tool-readers.ts';

const schema = { type: 'object', properties: {} };

const functionTools: Record<string, JsonObject> = {
  'chat completions': { type: 'function', function: { name: 'look', parameters: schema } },
  responses: { type: 'function', name: 'look', parameters: schema },
  messages: { name: 'look', input_schema: schema },
  Gemini: { functionDeclarations: [{ name: 'look' }] },
};
const required: Record<string, JsonObject> = {
  'chat completions': { tool_choice: 'required' },
  responses: { tool_choice: 'required' },
  messages: { tool_choice: { type: 'any' } },
  Gemini: { toolConfig: { functionCallingConfig: { mode: 'ANY' } } },
};

describe('a tool that the provider runs', () => {
  const listed: [string, JsonObject, string][] = [
    ['chat completions', { type: 'web_search' }, 'tools.1.web_search'],
    ['chat completions', { type: 'builtin_function', function: { name: '$web_search' } }, 'tools.1.builtin_function'],
    ...[
      'web_search',
      'web_search_preview',
      'local_shell',
      'shell',
      'apply_patch',
      'file_search',
      'code_interpreter',
      'image_generation',
      'mcp',
      'computer_use_preview',
      'tool_search',
      'a_tool_of_next_year',
    ].map(
      (type) => ['responses', { type, external_web_access: false }, `tools.1.${type}`] as [string, JsonObject, string],
    ),
    ...[
      'web_search_20250305',
      'web_fetch_20250910',
      'computer_20250124',
      'code_execution_20250825',
      'tool_search_tool_regex_20251119',
      'mcp_toolset',
    ].map((type) => ['messages', { type, name: 'of_the_vendor' }, `tools.1.${type}`] as [string, JsonObject, string]),
    ...['googleSearch', 'codeExecution', 'urlContext', 'google_search', 'googleMaps'].map(
      (key) => ['Gemini', { [key]: {} }, `tools.1.${key}`] as [string, JsonObject, string],
    ),
  ];
  const cases = listed.map(([dialect, tool, named]) => ({ dialect, tool, named }));

  it.each(cases)('$dialect: is left out and named: $named', ({ dialect, tool, named }) => {
    const request = readBy(dialect)({ tools: [functionTools[dialect] ?? {}, tool] });
    expect(request.tools.map(({ name }) => name)).toEqual(['look']);
    expect(request.leftOut).toEqual([named]);
  });

  it.each(cases)('$dialect: is refused beside a forced choice: $named', ({ dialect, tool }) => {
    const refusal = refusalOf(() =>
      readBy(dialect)({ tools: [functionTools[dialect] ?? {}, tool], ...required[dialect] }),
    );
    expect(refusal).toMatchObject({ code: 'unsupported_parameter', message: expect.stringContaining('provider') });
  });

  it.each(cases)('$dialect: is refused by a strict reading: $named', ({ dialect, tool }) => {
    const refusal = refusalOf(() =>
      readBy(dialect)({ tools: [functionTools[dialect] ?? {}, tool] }, { isStrict: true }),
    );
    expect(refusal.code).toBe('unsupported_parameter');
  });

  it.each([
    ['responses', { tools: [{ type: 'web_search' }], tool_choice: { type: 'web_search' } }],
    ['chat completions', { tools: [{ type: 'web_search' }], tool_choice: { type: 'web_search' } }],
    [
      'messages',
      {
        tools: [{ type: 'web_search_20250305', name: 'web_search' }],
        tool_choice: { type: 'tool', name: 'web_search' },
      },
    ],
  ])('%s: is refused if the choice names it', (dialect, more) => {
    const refusal = refusalOf(() => readBy(dialect)(more));
    expect(refusal).toMatchObject({ code: 'unsupported_parameter', param: 'tool_choice' });
  });

  it.each([
    ['bash_20250124', 'bash', ['command', 'restart']],
    ['text_editor_20250728', 'str_replace_based_edit_tool', ['path', 'old_str', 'insert_text']],
    ['memory_20250818', 'memory', ['path', 'new_path']],
  ])('is not %s, whose calls the client runs: Anthropic is sent its type, others a function', (type, name, inputs) => {
    const body = { tools: [{ type, name, cache_control: { type: 'ephemeral' } }], tool_choice: { type: 'tool', name } };
    for (const isStrict of [false, true]) {
      const { tools, toolChoice, vendor, leftOut = [] } = readBy('messages')(body, { isStrict });
      expect(tools).toMatchObject([{ name, vendor: { type }, cacheControl: { type: 'ephemeral' } }]);
      expect(Object.keys((tools[0]?.parameters?.['properties'] ?? {}) as JsonObject)).toEqual(
        expect.arrayContaining(inputs),
      );
      // Nothing is lost at another family, so that nothing is named there.
      expect({ toolChoice, paths: vendor?.paths, leftOut }).toEqual({ toolChoice: { name }, paths: [], leftOut: [] });
    }
  });

  it.each(['bash_20241022', 'text_editor_20250124', 'text_editor_20250429'])(
    'is not %s, which Anthropic’s present models refuse',
    (type) => {
      const { tools } = readBy('messages')({ tools: [{ type, name: 'tool_1' }] });
      expect(tools).toMatchObject([{ name: 'tool_1', parameters: { type: 'object' } }]);
      expect(tools[0]).not.toHaveProperty('vendor');
    },
  );

  it('leaves no tool waiting for the search of the provider', () => {
    const request = readBy('messages')({
      tools: [
        { type: 'tool_search_tool_bm25_20251119', name: 'search' },
        { name: 'look', input_schema: schema, defer_loading: true },
      ],
    });
    expect(request.tools[0]).not.toHaveProperty('vendor');
  });

  it.each(
    [
      'web_search_call',
      'local_shell_call',
      'local_shell_call_output',
      'file_search_call',
      'mcp_call',
      'mcp_list_tools',
      'code_interpreter_call',
      'image_generation_call',
      'computer_call_output',
      'tool_search_output',
    ].map((type) => [type]),
  )('leaves its item %s out of a conversation', (type) => {
    const input: JsonObject[] = [
      { role: 'user', content: 'a' },
      { type, id: 'x_1', status: 'completed' },
      { role: 'user', content: 'b' },
    ];
    const request = readBy('responses')({ input });
    expect(request.messages.map(({ content }) => content)).toEqual(['a', 'b']);
    expect(request.leftOut).toEqual([`input.1.${type}`]);
    expect(refusalOf(() => readBy('responses')({ input }, { isStrict: true }))).toMatchObject({
      param: 'input.1.type',
    });
  });

  it('leaves its blocks out of a conversation of messages', () => {
    const messages: JsonObject[] = [
      { role: 'user', content: 'a' },
      {
        role: 'assistant',
        content: [
          { type: 'server_tool_use', id: 's1', name: 'web_search', input: {} },
          { type: 'web_search_tool_result', tool_use_id: 's1', content: [] },
          { type: 'text', text: 'found', citations: [{ type: 'web_search_result_location', url: 'https://a.test' }] },
        ],
      },
      { role: 'assistant', content: [{ type: 'server_tool_use', id: 's2', name: 'web_search', input: {} }] },
      { role: 'user', content: 'b' },
    ];
    const request = readBy('messages')({ messages });
    expect(request.messages).toMatchObject([
      { role: 'user' },
      { role: 'assistant', content: [{ type: 'text', text: 'found' }] },
      { role: 'user' },
    ]);
    expect(request.leftOut).toEqual([
      'messages.1.content.0.server_tool_use',
      'messages.1.content.1.web_search_tool_result',
      'messages.2.content.0.server_tool_use',
    ]);
  });

  it('leaves its parts out of a conversation of Gemini', () => {
    const contents: JsonObject[] = [
      { role: 'user', parts: [{ text: 'a' }] },
      { role: 'model', parts: [{ executableCode: { code: '1' } }, { text: 'one' }] },
      { role: 'model', parts: [{ code_execution_result: { output: '1' } }] },
      { role: 'user', parts: [{ text: 'b' }] },
    ];
    const request = readBy('Gemini')({ contents });
    expect(request.messages).toHaveLength(3);
    expect(request.leftOut).toEqual(['contents.1.parts.0.executableCode', 'contents.2.parts.0.code_execution_result']);
  });
});

describe('an answer with tools of namespaces and tools with free text', () => {
  const namespace = (name: string, tools: JsonObject[]): JsonObject => ({
    type: 'namespace',
    name,
    description: 'd',
    tools,
  });
  const read = { type: 'function', name: 'read', parameters: schema };
  const patch = {
    type: 'custom',
    name: 'patch',
    description: 'Edits.',
    format: { type: 'grammar', syntax: 'lark', definition: 'start: X' },
  };
  const body = {
    tools: [
      { type: 'function', name: 'files__read', parameters: schema },
      namespace('files', [read, namespace('inner', [read])]),
      namespace('mcp__db__', [read]),
      patch,
    ],
  };
  const request = () => readBy('responses')({ ...body });
  const reply = (name: string, text: string): ChatReply => ({
    content: null,
    refusal: null,
    toolCalls: [{ id: 'c1', name, arguments: text }],
    finishReason: 'tool_calls',
    usage: null,
  });
  const about = { id: 'resp_1', requestId: 'req_1', created: 0, model: 'm', inputTokens: 1 };
  const usage = { input: 1, output: 1 };
  const whole = (name: string, text: string): unknown =>
    responseObject({ ...about, reply: reply(name, text), usage }, body, request().tools)['output'];
  const streamed = (name: string, text: string): string => {
    const writer = responsesStream(about, body, request().tools);
    const answered = { reply: reply(name, text), usage, credits: 1, attempts: 1 };
    return writer.pieces(toDeltas(answered.reply).filter(isContent)) + writer.end(answered);
  };

  it('offers each tool under a name of its own', () => {
    expect(request().tools.map(({ name }) => name)).toEqual([
      'files__read',
      'files__read_2',
      'files__inner__read',
      'mcp__db__read',
      'patch',
    ]);
  });

  it.each([
    ['files__read', undefined, 'read'],
    ['files__read_2', 'files', 'read'],
    ['files__inner__read', 'files__inner', 'read'],
    ['mcp__db__read', 'mcp__db__', 'read'],
  ])('names the call of %s as the client does', (offered, named, own) => {
    const name = named === undefined ? offered : own;
    const item = {
      type: 'function_call',
      call_id: 'c1',
      name,
      arguments: '{"a":1}',
      ...(named !== undefined && { namespace: named }),
    };
    expect(whole(offered, '{"a":1}')).toMatchObject([item]);
    expect(streamed(offered, '{"a":1}')).toContain(
      `"name":"${name}"${named === undefined ? '' : `,"namespace":"${named}"`}`,
    );
  });

  it('answers a tool with free text by its text', () => {
    const item = { type: 'custom_tool_call', call_id: 'c1', name: 'patch', input: 'a "b"\n' };
    expect(whole('patch', '{"input":"a \\"b\\"\\n"}')).toMatchObject([item]);
    expect(whole('patch', 'no object')).toMatchObject([{ ...item, input: 'no object' }]);
    const events = streamed('patch', '{"input":"a \\"b\\"\\n"}');
    expect(events).toContain('"response.custom_tool_call_input.done"');
    expect(events).not.toContain('function_call_arguments');
  });

  it('tells a model of the grammar, and keeps the form of the vendor', () => {
    const tool = request().tools.at(-1);
    expect(tool).toMatchObject({ description: expect.stringContaining('start: X'), custom: { description: 'Edits.' } });
  });

  it('reads the calls of an earlier turn under the offered names', () => {
    const input: JsonObject[] = [
      { role: 'user', content: 'a' },
      { type: 'function_call', call_id: 'c1', name: 'read', namespace: 'files', arguments: '{}' },
      { type: 'custom_tool_call', call_id: 'c2', name: 'patch', input: 'x' },
      { type: 'function_call_output', call_id: 'c1', output: 'one' },
      { type: 'custom_tool_call_output', call_id: 'c2', output: 'two' },
    ];
    const [, turn, ...results] = readBy('responses')({ ...body, input }).messages;
    expect(turn).toMatchObject({
      toolCalls: [
        { id: 'c1', name: 'files__read_2' },
        { id: 'c2', name: 'patch', arguments: '{"input":"x"}', isCustom: true },
      ],
    });
    expect(results).toMatchObject([{ toolCallId: 'c1' }, { toolCallId: 'c2' }]);
  });

  it('offers tools that come in the conversation', () => {
    const input: JsonObject[] = [
      {
        type: 'additional_tools',
        role: 'developer',
        tools: [namespace('files', [read]), patch, { type: 'web_search' }],
      },
      { role: 'user', content: 'a' },
    ];
    const request = readBy('responses')({ input });
    expect(request.tools.map(({ name }) => name)).toEqual(['files__read', 'patch']);
    expect(request.leftOut).toEqual(['input.0.tools.2.web_search']);
    expect(request.messages).toEqual([{ role: 'user', content: 'a' }]);
  });

  it('answers a custom tool of chat completions in its own form', () => {
    const custom = { type: 'custom', custom: { name: 'patch', description: 'Edits.' } };
    const messages: JsonObject[] = [
      { role: 'user', content: 'a' },
      { role: 'assistant', tool_calls: [{ id: 'c0', type: 'custom', custom: { name: 'patch', input: 'x' } }] },
      { role: 'tool', tool_call_id: 'c0', content: 'done' },
    ];
    const { tools, messages: requestMessages } = readBy('chat completions')({ tools: [custom], messages });
    expect(requestMessages[1]).toMatchObject({ toolCalls: [{ id: 'c0', name: 'patch', isCustom: true }] });
    const call = { id: 'c1', type: 'custom', custom: { name: 'patch', input: 'y' } };
    const answer = { ...about, reply: reply('patch', '{"input":"y"}'), usage };
    expect(openaiCompletion(answer, tools)).toMatchObject({ choices: [{ message: { tool_calls: [call] } }] });
    const writer = openaiStream({ ...about, includeUsage: false }, tools);
    const events =
      writer.pieces(toDeltas(answer.reply).filter(isContent)) + writer.end({ ...answer, credits: 1, attempts: 1 });
    expect(events).toContain(JSON.stringify({ index: 0, ...call }));
  });

  it('stays refused on the routes of the specification', () => {
    const body = {
      model: 'm',
      messages: [{ role: 'user', content: 'a' }],
      tools: [{ type: 'custom', custom: { name: 'p' } }],
    };
    expect(refusalOf(() => readOpenaiChat(body))).toMatchObject({ code: 'invalid_value', param: 'tools.0.type' });
  });
});

describe('the allowed tools of a choice', () => {
  const named = (...names: string[]): Record<string, JsonObject> => ({
    'chat completions': { tools: names.map((name) => ({ type: 'function', function: { name } })) },
    responses: { tools: names.map((name) => ({ type: 'function', name })) },
    Gemini: { tools: [{ functionDeclarations: names.map((name) => ({ name })) }] },
  });
  const allow = (mode: 'auto' | 'required', names: string[]): Record<string, JsonObject> => ({
    'chat completions': {
      tool_choice: {
        type: 'allowed_tools',
        allowed_tools: { mode, tools: names.map((name) => ({ type: 'function', function: { name } })) },
      },
    },
    responses: {
      tool_choice: { type: 'allowed_tools', mode, tools: names.map((name) => ({ type: 'function', name })) },
    },
    Gemini: {
      toolConfig: { functionCallingConfig: { mode: mode === 'auto' ? 'AUTO' : 'ANY', allowedFunctionNames: names } },
    },
  });
  const dialects = ['chat completions', 'responses', 'Gemini'];
  const cases = dialects.flatMap((dialect) => (['auto', 'required'] as const).map((mode) => [dialect, mode] as const));

  it.each(cases)('%s: are the only ones that are offered (%s)', (dialect, mode) => {
    const request = readBy(dialect)({ ...named('a', 'b', 'c')[dialect], ...allow(mode, ['a', 'c'])[dialect] });
    expect(request.tools.map(({ name }) => name)).toEqual(['a', 'c']);
    expect(request.toolChoice).toBe(mode);
  });

  it.each(cases)('%s: must be tools of the request (%s)', (dialect, mode) => {
    const run = () => readBy(dialect)({ ...named('a', 'b')[dialect], ...allow(mode, ['a', 'x'])[dialect] });
    expect(refusalOf(run).code).toBe('invalid_value');
  });
});

it('says how to send the items that a reference stands for', () => {
  const input: JsonObject[] = [
    { role: 'user', content: 'a' },
    { type: 'item_reference', id: 'msg_1' },
  ];
  expect(refusalOf(() => readBy('responses')({ input }))).toMatchObject({
    code: 'unsupported_parameter',
    param: 'input.1.type',
    message: expect.stringMatching(/store: false.*providerOptions\.openai\.store = false/),
  });
});

describe('properties named constructor and prototype', () => {
  const properties = { constructor: { type: 'string' }, prototype: { type: 'string' } };
  const tools: Record<string, JsonObject> = {
    'chat completions': { type: 'function', function: { name: 'look', parameters: { type: 'object', properties } } },
    responses: { type: 'function', name: 'look', parameters: { type: 'object', properties } },
    messages: { name: 'look', input_schema: { type: 'object', properties } },
    Gemini: { functionDeclarations: [{ name: 'look', parametersJsonSchema: { type: 'object', properties } }] },
  };

  it.each(Object.entries(tools))('%s: reach the model as properties of a tool', (dialect, tool) => {
    const [read] = readBy(dialect)({ tools: [tool] }).tools;
    expect(Object.entries(read?.parameters?.properties ?? {})).toEqual(Object.entries(properties));
  });

  it.each(Object.keys(tools))('%s: are unknown fields like others at the top', (dialect) => {
    const request = readBy(dialect)({ constructor: { a: 1 }, prototype: 1 });
    expect([...Object.keys(request.extra), ...(request.leftOut ?? [])].sort()).toEqual(['constructor', 'prototype']);
  });
});

describe('marks for the prompt cache on whole messages of chat completions', () => {
  const cache_control = { type: 'ephemeral' };
  const call = { id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } };
  const messages: JsonObject[] = [
    { role: 'system', content: 's', cache_control },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
      ],
      cache_control,
    },
    { role: 'assistant', content: '', tool_calls: [{ ...call, cache_control }], cache_control },
    { role: 'tool', tool_call_id: 'c1', content: 'r', cache_control },
  ];

  it('stand at the end of each message and at its calls', () => {
    const cacheControl = cache_control;
    const request = readBy('chat completions')({ messages });
    expect(request.messages).toMatchObject([
      { content: [{ text: 's', cacheControl }] },
      { content: [{ text: 'a' }, { text: 'b', cacheControl }] },
      { content: '', toolCalls: [{ id: 'c1', cacheControl }] },
      { content: [{ text: 'r', cacheControl }] },
    ]);
    expect(request.messages[1]).not.toHaveProperty('content.0.cacheControl');
    expect(request.leftOut).toEqual([]);
  });

  it('stay without effect on the routes of the specification', () => {
    expect(JSON.stringify(readOpenaiChat({ model: 'm', messages }))).not.toContain('cacheControl');
  });
});
