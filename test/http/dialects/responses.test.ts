import { describe, expect, it } from '@jest/globals';
import type { ChatReply } from '../../../src/domain/chat/chat.ts';
import { isContent, toDeltas, type ChatDelta } from '../../../src/domain/chat/chat-stream.ts';
import { GatewayError } from '../../../src/domain/errors.ts';
import type { JsonObject } from '../../../src/domain/json.ts';
import { responseObject } from '../../../src/http/dialects/responses/responses-reply.ts';
import { inResponsesWords, readResponses } from '../../../src/http/dialects/responses/responses-request.ts';
import { mixedCalls, twoCalls } from './mixed-calls.ts';
import { responsesStream } from '../../../src/http/dialects/responses/responses-stream.ts';

const read = (more: JsonObject = {}) => readResponses({ model: 'm', input: 'hello', ...more });
const refusal = (more: JsonObject): { code?: string; param?: string | undefined } => {
  try {
    read(more);
    return {};
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return { code: error.code, param: error.param };
  }
};
const call = { type: 'function_call', id: 'fc_1', call_id: 'c1', name: 'look', arguments: '{"zoom":2}' };
const signed = { include: ['reasoning.encrypted_content'] };

describe('a Responses request', () => {
  it('becomes a canonical request with the default length and the temperature of the model', () => {
    expect(read()).toEqual({
      model: 'm',
      messages: [{ role: 'user', content: 'hello' }],
      tools: [],
      maxTokens: 1_024,
      isDefaultLength: true,
      extra: {},
    });
  });

  it('carries every setting that has a canonical name', () => {
    const schema = { type: 'object' };
    expect(
      read({
        instructions: 'Be brief.',
        max_output_tokens: 50,
        temperature: 0.5,
        top_p: 0.9,
        safety_identifier: 'u1',
        tools: [{ type: 'function', name: 'look', description: 'Looks.', parameters: schema, strict: true }],
        tool_choice: { type: 'function', name: 'look' },
        parallel_tool_calls: false,
        text: { format: { type: 'json_schema', name: 'n', schema, strict: true }, verbosity: 'low' },
        reasoning: { effort: 'high', summary: 'auto' },
        metadata: { a: 'b' },
        ...signed,
      }),
    ).toMatchObject({
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'hello' },
      ],
      maxTokens: 50,
      temperature: 0.5,
      topP: 0.9,
      user: 'u1',
      tools: [{ name: 'look', description: 'Looks.', parameters: schema, strict: true }],
      toolChoice: { name: 'look' },
      parallelToolCalls: false,
      responseFormat: { type: 'json_schema', name: 'n', schema, strict: true },
      thinking: { summary: 'auto', isSigned: true },
      extra: { reasoning_effort: 'high', verbosity: 'low', metadata: { a: 'b' } },
    });
  });

  it('joins the items of one turn of the model', () => {
    const input: JsonObject[] = [
      { role: 'user', content: [{ type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'low' }] },
      { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Hm.' }], encrypted_content: 'enc' },
      {
        type: 'message',
        id: 'msg_1',
        status: 'completed',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'Let me look.', annotations: [], logprobs: [] }],
      },
      call,
      { ...call, call_id: 'c2' },
      { type: 'function_call_output', call_id: 'c2', output: [{ type: 'input_text', text: 'a fox' }] },
      { role: 'assistant', content: 'A fox.' },
      { role: 'developer', content: 'In English.' },
    ];
    expect(read({ input }).messages).toEqual([
      { role: 'user', content: [{ type: 'image', url: 'data:image/png;base64,AAAA', detail: 'low' }] },
      {
        role: 'assistant',
        content: [{ type: 'text', text: 'Let me look.' }],
        toolCalls: ['c1', 'c2'].map((id) => ({ id, name: 'look', arguments: '{"zoom":2}' })),
        thoughts: [{ kind: 'openai', text: 'Hm.', signature: 'enc', id: 'rs_1' }],
      },
      { role: 'tool', toolCallId: 'c2', content: [{ type: 'text', text: 'a fox' }] },
      { role: 'assistant', content: 'A fox.', toolCalls: [] },
      { role: 'developer', content: 'In English.' },
    ]);
  });

  it('takes null for an answer without text, as symfony/ai sends it', () => {
    const saying = (content: JsonObject[string]) =>
      read({ input: [{ role: 'user', content: 'a' }, { type: 'message', role: 'assistant', content }, call] }).messages;
    expect(saying(null)).toEqual(saying([]));
    expect(refusal({ input: [{ role: 'user', content: null }] })).toMatchObject({ param: 'input.0.content' });
  });

  it('takes a text after the calls of its turn as part of the turn, before which Continue writes it', () => {
    const text = (content: string) => ({ role: 'assistant', content });
    const output = { type: 'function_call_output', call_id: 'c1', output: 'a fox' };
    const thought = { type: 'reasoning', id: 'rs_1', encrypted_content: 'enc' };
    const turnOf = (...items: JsonObject[]) =>
      read({ input: [{ role: 'user', content: 'a' }, ...items, output] }).messages[1];
    const toolCalls = [{ id: 'c1', name: 'look', arguments: '{"zoom":2}' }];
    expect(turnOf(thought, call, text('Looking.'))).toMatchObject({
      content: 'Looking.',
      toolCalls,
      thoughts: [{ signature: 'enc' }],
    });
    expect(turnOf(text('Let me see.'), call, text('Looking.'))).toMatchObject({
      content: 'Let me see.\n\nLooking.',
      toolCalls,
    });
    expect(read({ input: ['One.', 'Two.'].map(text) }).messages).toMatchObject([
      { content: 'One.' },
      { content: 'Two.' },
    ]);
  });

  it('gives a signature to the call that follows it, because ids of calls may repeat over the turns', () => {
    const signed = (signature: string) => ({
      type: 'reasoning',
      id: 'rs_1',
      summary: [],
      encrypted_content: `tollgate.gemini_call.${Buffer.from('c1').toString('base64url')}.${signature}`,
    });
    const output = { type: 'function_call_output', call_id: 'c1', output: 'a fox' };
    const input: JsonObject[] = [
      { role: 'user', content: 'a' },
      signed('s1'),
      call,
      output,
      signed('s2'),
      call,
      output,
    ];
    const { messages } = read({ input });
    expect(messages.flatMap((message) => (message.role === 'assistant' ? message.toolCalls : []))).toMatchObject([
      { id: 'c1', signature: 's1' },
      { id: 'c1', signature: 's2' },
    ]);
  });

  it('takes values that change nothing', () => {
    const harmless = { store: false, background: false, truncation: 'disabled', service_tier: 'auto', top_logprobs: 0 };
    expect(read({ ...harmless, previous_response_id: null, store: null, stream: true })).toEqual(read());
    expect(read(harmless)).toEqual(read());
  });

  it.each<[string, JsonObject, string]>([
    ['store: true', { store: true }, 'store'],
    ['an earlier response', { previous_response_id: 'resp_1' }, 'previous_response_id'],
    ['work in the background', { background: true }, 'background'],
    ['a conversation', { conversation: 'conv_1' }, 'conversation'],
    ['a stored prompt', { prompt: { id: 'p' } }, 'prompt'],
    ['a tool of the provider', { tools: [{ type: 'web_search' }] }, 'tools.0.type'],
    ['a compaction', { input: [{ role: 'user', content: 'a' }, { type: 'compaction_trigger' }] }, 'input.1.type'],
    ['what was compacted', { input: [{ type: 'compaction', id: 'c', encrypted_content: 'e' }] }, 'input.0.type'],
    ['an item that refers to a stored one', { input: [{ type: 'item_reference', id: 'i' }] }, 'input.0.type'],
    ['no file', { input: [{ role: 'user', content: [{ type: 'input_file' }] }] }, 'input.0.content.0.file_data'],
    ['an unknown field of an item', { input: [{ ...call, colour: 'n' }] }, 'input.0.colour'],
    ['log probabilities', { include: ['message.output_text.logprobs'] }, 'include.0'],
    ['an unknown phase', { input: [{ role: 'assistant', content: 'a', phase: 'x' }] }, 'input.0.phase'],
    [
      'an output without its call',
      { input: [{ type: 'function_call_output', call_id: 'x', output: '' }] },
      'input.0.call_id',
    ],
    ['a choice without tools', { tool_choice: 'required' }, 'tool_choice'],
    ['no input', { input: null }, 'input'],
  ])('is refused by the name of the field: %s', (_name, more, param) => {
    expect(refusal(more).param).toBe(param);
  });

  it('leaves further fields to the list of each channel', () => {
    expect(read({ service_tier: 'flex' }).extra).toEqual({ service_tier: 'flex' });
  });

  it('gets the refusals of the shared checks in its own words', () => {
    const error = new GatewayError('unsupported_parameter', {
      param: 'response_format',
      message: 'no response_format',
    });
    expect(inResponsesWords(error)).toMatchObject({ param: 'text.format', message: 'no text.format' });
  });
});

const about = { id: 'resp_1', created: 1, model: 'm', requestId: 'req_1' };
const replied = (more: Partial<ChatReply> = {}): ChatReply => ({
  content: 'Hi.',
  refusal: null,
  toolCalls: [],
  finishReason: 'stop',
  usage: null,
  ...more,
});
const usage = { input: 20, output: 7 };
const write = (more: Partial<ChatReply> = {}, request: JsonObject = {}) =>
  responseObject({ ...about, usage, reply: replied(more) }, request);

describe('a response', () => {
  it('has the items and counts of the answer, and repeats the request', () => {
    expect(
      write(
        {
          reasoning: 'Hm.',
          toolCalls: [{ id: 'c1', name: 'look', arguments: '{}' }],
          usage: { inputTokens: 20, outputTokens: 7, cachedTokens: 8, reasoningTokens: 3 },
        },
        { instructions: 'Be brief.', metadata: { a: 'b' }, truncation: 'auto' },
      ),
    ).toMatchObject({
      id: 'resp_1',
      object: 'response',
      status: 'completed',
      store: false,
      instructions: 'Be brief.',
      metadata: { a: 'b' },
      truncation: 'auto',
      output: [
        { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }] },
        { type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'Hi.' }] },
        { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{}', status: 'completed' },
      ],
      usage: {
        input_tokens: 20,
        input_tokens_details: { cached_tokens: 8 },
        output_tokens: 7,
        output_tokens_details: { reasoning_tokens: 3 },
        total_tokens: 27,
      },
    });
  });

  it('has every value that the schemas of Open Responses and OpenAI require, whether the request named it or not', () => {
    const tools = [{ type: 'function', name: 'look', strict: null, parameters: null }];
    const noParameters = { type: 'object', properties: {} };
    expect(write({}, { tools })).toMatchObject({
      access_programs: null,
      temperature: 1,
      top_p: 1,
      presence_penalty: 0,
      frequency_penalty: 0,
      tools: [{ type: 'function', name: 'look', description: null, parameters: noParameters, strict: false }],
    });
    const request = { temperature: 0.2, top_p: 0.5, presence_penalty: 1, frequency_penalty: -1 };
    const requestedTools = [{ type: 'function', name: 'look', description: 'Looks.', parameters: {}, strict: true }];
    expect(write({}, { ...request, tools: requestedTools })).toMatchObject({ ...request, tools: requestedTools });
    const web = { type: 'web_search', search_context_size: 'low' };
    const group = { type: 'namespace', name: 'files', tools: [...tools, web] };
    const shown = [{ type: 'function', name: 'look', description: null, parameters: noParameters, strict: false }];
    expect(write({}, { tools: [web, { type: 'custom', name: 'patch' }, group] })).toMatchObject({
      tools: [
        { type: 'custom', name: 'patch' },
        { type: 'namespace', name: 'files', description: '', tools: shown },
      ],
    });
    const nothing = { temperature: null, top_p: null, presence_penalty: null, frequency_penalty: null, tools: null };
    expect(write({}, nothing)).toMatchObject({ temperature: 1, top_p: 1, presence_penalty: 0, tools: [] });
  });

  it.each([
    ['length', 'max_output_tokens'],
    ['content_filter', 'content_filter'],
  ] as const)('that ended by %s is incomplete', (finishReason, reason) => {
    expect(write({ finishReason })).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason },
      output: [{ status: 'incomplete' }],
    });
  });

  it('has a refusal as a part of its own', () => {
    expect(write({ content: null, refusal: 'No.' })).toMatchObject({
      output: [{ type: 'message', content: [{ type: 'refusal', refusal: 'No.' }] }],
    });
  });

  it('brings encrypted thoughts and signatures of calls back unchanged, whoever wrote them, asked for or not', () => {
    const reply = replied({
      thoughts: [
        { kind: 'openai', text: 'Hm.', signature: 'enc', id: 'rs_9' },
        { kind: 'anthropic', text: 'Aha.', signature: 'sig/=' },
        { kind: 'anthropic_redacted', text: '', signature: 'secret' },
      ],
      toolCalls: [{ id: 'call.1', name: 'look', arguments: '{}', signature: 'g.sig' }],
    });
    const { output } = write(reply, signed);
    const items = JSON.parse(JSON.stringify(output)) as JsonObject[];
    const input = [{ role: 'user', content: 'hello' }, ...items];
    expect(read({ input }).messages[1]).toEqual({
      role: 'assistant',
      content: [{ type: 'text', text: 'Hi.' }],
      thoughts: reply.thoughts,
      toolCalls: reply.toolCalls,
    });
    expect(write(reply).output).toEqual(output);
  });
});

interface Event {
  type: string;
  sequence_number: number;
  response?: JsonObject;
  [field: string]: unknown;
}
const eventsOf = (text: string): Event[] =>
  [...text.matchAll(/^event: ([\w.]+)\ndata: (.*)\n\n/gm)].map(([, name, data]) => {
    const event = JSON.parse(data ?? '') as Event;
    expect(event.type).toBe(name);
    return event;
  });

describe('a streamed response', () => {
  const streamed = (reply: ChatReply, deltas: ChatDelta[] = toDeltas(reply).filter(isContent)): Event[] => {
    const writer = responsesStream(about, signed);
    const pieces = deltas.map((delta) => writer.pieces([delta]));
    return eventsOf(pieces.join('') + writer.end({ reply, usage, credits: 3, attempts: 1 }));
  };

  it('tells of each item and ends with the whole response and what it cost', () => {
    const events = streamed(
      replied({
        thoughts: [{ kind: 'openai', text: 'Hm.', signature: 'enc' }],
        toolCalls: [{ id: 'c1', name: 'look', arguments: '{"a":1}' }],
        finishReason: 'tool_calls',
      }),
    );
    expect(events.map(({ type }) => type.replace('response.', ''))).toEqual([
      'created',
      'in_progress',
      'output_item.added',
      'reasoning_summary_part.added',
      'reasoning_summary_text.delta',
      'reasoning_summary_text.done',
      'reasoning_summary_part.done',
      'output_item.done',
      'output_item.added',
      'content_part.added',
      'output_text.delta',
      'output_text.done',
      'content_part.done',
      'output_item.done',
      'output_item.added',
      'function_call_arguments.delta',
      'function_call_arguments.done',
      'output_item.done',
      'completed',
    ]);
    expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, index) => index));
    const items = events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item);
    expect(events.at(-1)).toMatchObject({
      response: { status: 'completed', output: items, tollgate: { credits: 3, attempts: 1 } },
    });
    expect(items).toMatchObject([{ type: 'reasoning', encrypted_content: 'enc' }, {}, { call_id: 'c1' }]);
  });

  it.each(mixedCalls)('ends each item before the next begins when the calls %s', (_how, deltas) => {
    const events = streamed(replied({ content: null }), deltas);
    const borders = events.filter(({ type }) => /output_item\.(added|done)$/.test(type));
    expect(borders.map(({ type, output_index: index }) => `${type.split('.').at(-1)} ${String(index)}`)).toEqual(
      Array.from({ length: borders.length / 2 }, (_, index) => [`added ${index}`, `done ${index}`]).flat(),
    );
    const items = borders.filter(({ type }) => type.endsWith('done')).map(({ item }) => item as JsonObject);
    expect(events.at(-1)?.response?.output).toEqual(items);
    expect(items.filter(({ type }) => type === 'function_call')).toMatchObject(
      twoCalls.map(({ id, ...call }) => ({ call_id: id, status: 'completed', ...call })),
    );
  });

  it('says of its last call alone that it was cut', () => {
    const pieces: ChatDelta[] = [
      { kind: 'tool_call', index: 0, id: 'a', name: 'x', arguments: '{"a":1}' },
      { kind: 'tool_call', index: 1, id: 'b', name: 'y', arguments: '{"b"' },
    ];
    expect(streamed(replied({ content: null, finishReason: 'length' }), pieces).at(-1)?.response?.output).toMatchObject(
      [
        { call_id: 'a', status: 'completed', arguments: '{"a":1}' },
        { call_id: 'b', status: 'incomplete', arguments: '{"b"' },
      ],
    );
  });

  it('gives a call that has ended no more text', () => {
    const pieces: ChatDelta[] = [
      { kind: 'tool_call', index: 0, id: 'a', name: 'x', arguments: '{}' },
      { kind: 'tool_call', index: 1, id: 'b', name: 'y', arguments: '{}' },
      { kind: 'tool_call', index: 0, arguments: '' },
    ];
    expect(streamed(replied({ content: null }), pieces).at(-1)?.response?.output).toMatchObject([
      { call_id: 'a', arguments: '{}' },
      { call_id: 'b', arguments: '{}' },
    ]);
  });

  it('ends with an error that all SDKs read and a failed response if it breaks off, and closes its open items', () => {
    const writer = responsesStream(about, {});
    const text = writer.pieces([
      { kind: 'reasoning', text: 'I' },
      { kind: 'text', text: 'half' },
      { kind: 'tool_call', index: 0, id: 'call_a', name: 'read', arguments: '{"path":"/da' },
      { kind: 'tool_call', index: 1, id: 'call_b', name: 'list', arguments: '' },
    ]);
    const events = eventsOf(text + writer.error(new GatewayError('upstream_error')));
    expect(events.slice(-2)).toMatchObject([
      { type: 'error', code: 'upstream_error', error: { code: 'upstream_error', type: 'server_error' } },
      {
        type: 'response.failed',
        response: {
          status: 'failed',
          error: { code: 'upstream_error', message: 'The upstream provider failed.' },
          output: [
            { type: 'reasoning' },
            { type: 'message', content: [{ text: 'half' }] },
            // No client can run these.
            { type: 'function_call', status: 'incomplete', arguments: '{"path":"/da' },
            { type: 'function_call', status: 'incomplete', arguments: '' },
          ],
        },
      },
    ]);
    const count = (type: string): number => events.filter((event) => event.type === type).length;
    expect([count('response.output_item.added'), count('response.output_item.done')]).toEqual([4, 4]);
  });

  it('ends so if it breaks off before its first piece', () => {
    const events = eventsOf(responsesStream(about, {}).error(new GatewayError('upstream_error')));
    expect(events.map(({ type }) => type)).toEqual([
      'response.created',
      'response.in_progress',
      'error',
      'response.failed',
    ]);
  });
});
