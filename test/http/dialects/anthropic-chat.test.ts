import { describe, expect, it } from '@jest/globals';
import type { ChatReply } from '../../../src/domain/chat/chat.ts';
import { toDeltas, isContent, type ChatDelta } from '../../../src/domain/chat/chat-stream.ts';
import { GatewayError } from '../../../src/domain/errors.ts';
import type { JsonObject } from '../../../src/domain/json.ts';
import { anthropicError } from '../../../src/http/dialects/anthropic/anthropic.ts';
import { anthropicMessage } from '../../../src/http/dialects/anthropic/anthropic-chat-reply.ts';
import {
  inAnthropicWords,
  readMessages,
  readTokenCount,
} from '../../../src/http/dialects/anthropic/anthropic-chat-request.ts';
import { anthropicStream } from '../../../src/http/dialects/anthropic/anthropic-chat-stream.ts';
import { mixedCalls, twoCalls } from './mixed-calls.ts';

const read = (more: JsonObject = {}) =>
  readMessages({ model: 'm', max_tokens: 100, messages: [{ role: 'user', content: 'hello' }], ...more });
const refusal = (more: JsonObject): { code?: string; param?: string | undefined } => {
  try {
    read(more);
    return {};
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return { code: error.code, param: error.param };
  }
};
const saying = (content: JsonObject[], role = 'user') => ({ messages: [{ role, content }] });
const use = { type: 'tool_use', id: 'toolu_1', name: 'look', input: { zoom: 2 } };
const tools = [{ name: 'look', input_schema: { type: 'object' } }];
const mark = { type: 'ephemeral', ttl: '1h' };

describe('a streamed message with several tool calls', () => {
  it.each(mixedCalls)('has each call in a block of its own, whole, when their pieces %s', (_how, deltas) => {
    const written: { id: string; name: string; arguments: string }[] = [];
    let writtenText = '';
    const writer = anthropicStream({ id: 'msg_1', created: 1, model: 'm', requestId: 'req_1' });
    const reply: ChatReply = {
      content: null,
      refusal: null,
      toolCalls: twoCalls,
      finishReason: 'tool_calls',
      usage: null,
    };
    const events =
      deltas.map((delta) => writer.pieces([delta])).join('') +
      writer.end({ reply, usage: { input: 1, output: 1 }, credits: 1, attempts: 1 });
    let open = -1;
    for (const line of events.split('\n').filter((one) => one.startsWith('data: '))) {
      const event = JSON.parse(line.slice(6)) as BlockEvent;
      if (event.type === 'content_block_start') {
        expect(event.index).toBe(open + 1);
        open = event.index ?? -1;
        const { id, name } = event.content_block ?? {};
        if (id !== undefined && name !== undefined) written.push({ id, name, arguments: '' });
      }
      if (event.type !== 'content_block_delta') continue;
      expect(event.index).toBe(open);
      writtenText += event.delta?.text ?? '';
      const last = written.at(-1);
      if (last) last.arguments += event.delta?.partial_json ?? '';
    }
    expect(written).toEqual(twoCalls);
    expect(writtenText).toBe(deltas.some(({ kind }) => kind === 'text') ? 'Let me see.' : '');
  });
});

interface BlockEvent {
  type: string;
  index?: number;
  content_block?: { id?: string; name?: string };
  delta?: { text?: string; partial_json?: string };
}

describe('a Messages request', () => {
  it('becomes a canonical request without values that the client did not send', () => {
    expect(read()).toEqual({
      model: 'm',
      messages: [{ role: 'user', content: 'hello' }],
      tools: [],
      maxTokens: 100,
      extra: {},
    });
  });

  it('carries every setting that has a canonical name', () => {
    expect(
      read({
        system: [{ type: 'text', text: 'Be brief.', cache_control: mark }],
        temperature: 0.5,
        top_p: 0.9,
        top_k: 5,
        stop_sequences: ['END'],
        metadata: { user_id: 'u1' },
        tools: [{ ...tools[0], type: 'custom', description: 'Looks.', strict: true, cache_control: mark }],
        tool_choice: { type: 'any', disable_parallel_tool_use: true },
        output_config: { effort: 'low', format: { type: 'json_schema', schema: { type: 'object' } } },
        service_tier: 'auto',
        stream: true,
      }),
    ).toMatchObject({
      messages: [
        { role: 'system', content: [{ text: 'Be brief.', cacheControl: mark }] },
        { role: 'user', content: 'hello' },
      ],
      temperature: 0.5,
      topP: 0.9,
      topK: 5,
      stop: ['END'],
      user: 'u1',
      tools: [{ name: 'look', description: 'Looks.', strict: true, cacheControl: mark }],
      toolChoice: 'required',
      parallelToolCalls: false,
      responseFormat: { type: 'json_schema', schema: { type: 'object' } },
      thinking: { mode: 'model' },
      extra: { reasoning_effort: 'low' },
    });
  });

  it('has images of both kinds, also in the results of tools, which come before the rest of their turn', () => {
    const png = { type: 'base64', media_type: 'image/png', data: 'AAAA' };
    const messages: JsonObject[] = [
      { role: 'assistant', content: [use] },
      {
        role: 'user',
        content: [
          { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
          {
            type: 'tool_result',
            tool_use_id: 'toolu_1',
            is_error: true,
            content: [
              { type: 'text', text: 'no zoom' },
              { type: 'image', source: png },
            ],
          },
        ],
      },
    ];
    expect(read({ messages }).messages).toEqual([
      { role: 'assistant', content: null, toolCalls: [{ id: 'toolu_1', name: 'look', arguments: '{"zoom":2}' }] },
      {
        role: 'tool',
        toolCallId: 'toolu_1',
        isError: true,
        content: [
          { type: 'text', text: 'no zoom' },
          { type: 'image', url: 'data:image/png;base64,AAAA' },
        ],
      },
      { role: 'user', content: [{ type: 'image', url: 'https://example.com/a.png' }] },
    ]);
  });

  it('says how the model is to think', () => {
    const thinking = (value: JsonObject) => read({ thinking: value, max_tokens: 4_000 });
    expect(thinking({ type: 'adaptive', display: 'omitted' }).thinking).toEqual({
      mode: 'adaptive',
      display: 'omitted',
      isSigned: true,
    });
    expect(thinking({ type: 'enabled', budget_tokens: 2_000 })).toMatchObject({
      thinking: { mode: 'budget', budgetTokens: 2_000 },
      extra: { reasoning_effort: 'medium' },
    });
    for (const type of ['disabled', 'between_tools']) expect(thinking({ type }).thinking).toEqual({ mode: 'off' });
    expect(refusal({ thinking: { type: 'sometimes' } })).toMatchObject({ param: 'thinking.type' });
    expect(refusal({ thinking: { type: 'enabled', budget_tokens: 2_000 } })).toMatchObject({
      param: 'thinking.budget_tokens',
    });
    const between = { isStrict: false, betas: ['interleaved-thinking-2025-05-14'] };
    const large = { model: 'm', max_tokens: 1_500, messages: [{ role: 'user', content: 'hi' }] };
    expect(
      readMessages({ ...large, thinking: { type: 'enabled', budget_tokens: 2_000 } }, between).thinking,
    ).toMatchObject({ budgetTokens: 2_000 });
    expect(refusal({ thinking: { type: 'adaptive' }, tools, tool_choice: { type: 'any' } })).toMatchObject({
      param: 'tool_choice',
    });
  });

  it('marks its last part for the prompt cache if the mark is for the whole request', () => {
    expect(read({ cache_control: mark }).messages).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'hello', cacheControl: mark }] },
    ]);
  });

  it('is marked as the beginning of the answer if its last message is from the model', () => {
    const messages: JsonObject[] = [
      { role: 'user', content: 'One word:' },
      { role: 'assistant', content: 'It is' },
    ];
    expect(read({ messages })).toMatchObject({ isPrefilled: true });
    expect(read()).not.toHaveProperty('isPrefilled');
  });

  it.each<[string, JsonObject, string]>([
    ['a document without a source', saying([{ type: 'document', source: {} }]), 'messages.0.content.0.source.type'],
    ['a file', saying([{ type: 'image', source: { type: 'file', file_id: 'f' } }]), 'messages.0.content.0.source.type'],
    ['a tool of the provider', { tools: [{ type: 'web_search_20260318', name: 'web_search' }] }, 'tools.0.type'],
    ['an unknown field', { container: 'c1' }, 'container'],
    ['an unknown field of a block', saying([{ type: 'text', text: 'a', speed: 1 }]), 'messages.0.content.0.speed'],
    ['fast mode', { speed: 'fast' }, 'speed'],
    ['no length', { max_tokens: null }, 'max_tokens'],
    [
      'a result without its call',
      saying([{ type: 'tool_result', tool_use_id: 'x' }]),
      'messages.0.content.0.tool_use_id',
    ],
    ['a choice without tools', { tool_choice: { type: 'any' } }, 'tool_choice'],
  ])('is refused by the name of the field: %s', (_name, more, param) => {
    expect(refusal(more).param).toBe(param);
  });

  it('takes fields of other services that are null', () => {
    expect(read({ container: null, inference_geo: null, diagnostics: null })).toEqual(read());
  });

  it('of a count needs no length', () => {
    expect(readTokenCount({ model: 'm', messages: [{ role: 'user', content: 'hello' }] })).toMatchObject({
      model: 'm',
    });
  });

  it('gets the refusals of the shared checks in its own words', () => {
    const error = new GatewayError('unsupported_parameter', { param: 'stop', message: 'not the field stop' });
    expect(inAnthropicWords(error)).toMatchObject({ param: 'stop_sequences', message: 'not the field stop_sequences' });
    const nestedError = new GatewayError('invalid_url', {
      param: 'messages.3.content.1.image_url.url',
      message: 'bad',
    });
    expect(inAnthropicWords(nestedError)).toMatchObject({ param: 'messages' });
  });
});

const about = { id: 'msg_1', created: 1, model: 'm', requestId: 'req_1' };
const replied = (more: Partial<ChatReply> = {}): ChatReply => ({
  content: 'Hi.',
  refusal: null,
  toolCalls: [],
  finishReason: 'stop',
  usage: null,
  ...more,
});
const usage = { input: 20, output: 7 };
const write = (more: Partial<ChatReply> = {}) => anthropicMessage({ ...about, usage, reply: replied(more) });

describe('a message', () => {
  it('has the blocks, the reason and the counts of the answer', () => {
    expect(
      write({
        usage: {
          inputTokens: 20,
          outputTokens: 7,
          cachedTokens: 8,
          cacheWriteTokens: 6,
          cacheWrite1hTokens: 2,
          reasoningTokens: 3,
        },
      }),
    ).toMatchObject({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [{ type: 'text', text: 'Hi.' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: {
        input_tokens: 6,
        cache_read_input_tokens: 8,
        cache_creation_input_tokens: 6,
        cache_creation: { ephemeral_5m_input_tokens: 4, ephemeral_1h_input_tokens: 2 },
        output_tokens: 7,
        output_tokens_details: { thinking_tokens: 3 },
      },
    });
  });

  it.each<[Partial<ChatReply>, string, string | null]>([
    [{}, 'end_turn', null],
    [{ stopSequence: 'END' }, 'stop_sequence', 'END'],
    [{ finishReason: 'length' }, 'max_tokens', null],
    [{ toolCalls: [{ id: 'c', name: 'n', arguments: '{}' }] }, 'tool_use', null],
    [{ finishReason: 'content_filter' }, 'refusal', null],
    [{ content: null, refusal: 'No.' }, 'refusal', null],
  ])('says why the answer ended: %j', (more, reason, sequence) => {
    expect(write(more)).toMatchObject({ stop_reason: reason, stop_sequence: sequence });
  });

  it('leaves out a call whose arguments are no object, and says so', () => {
    const broken = write({ toolCalls: [{ id: 'c', name: 'n', arguments: '{"a":' }], finishReason: 'tool_calls' });
    expect(broken).toMatchObject({
      content: [{ type: 'text' }],
      stop_reason: 'max_tokens',
      tollgate: { warning: expect.stringContaining('arguments are not a JSON object') },
    });
  });

  it('brings signed thoughts and signatures of calls back unchanged, whoever wrote them', () => {
    const reply = replied({
      reasoning: 'Hm.',
      thoughts: [
        { kind: 'anthropic', text: 'Hm.', signature: 'sig/=' },
        { kind: 'anthropic_redacted', text: '', signature: 'secret' },
        { kind: 'openai', text: 'Aha.', signature: 'enc.1', id: 'rs.1' },
      ],
      toolCalls: [{ id: 'call.1', name: 'look', arguments: '{}', signature: 'g.sig' }],
    });
    const { content } = anthropicMessage({ ...about, usage, reply });
    expect(content).toMatchObject([
      { type: 'thinking', thinking: 'Hm.', signature: 'sig/=' },
      { type: 'redacted_thinking', data: 'secret' },
      { type: 'thinking', thinking: 'Aha.' },
      { type: 'text', text: 'Hi.' },
      { type: 'thinking', thinking: '' },
      { type: 'tool_use', id: 'call.1', input: {} },
    ]);
    // Clients in C# send a thought without a text back as a redacted one.
    const asRedacted = content.map((block) =>
      block.type === 'thinking' && block.thinking === '' ? { type: 'redacted_thinking', data: block.signature } : block,
    );
    for (const sentBack of [content, asRedacted]) {
      const messages = [
        { role: 'user', content: 'hello' },
        { role: 'assistant', content: sentBack },
      ];
      expect(read(JSON.parse(JSON.stringify({ messages })) as JsonObject).messages[1]).toEqual({
        role: 'assistant',
        content: [{ type: 'text', text: 'Hi.' }],
        thoughts: reply.thoughts,
        toolCalls: reply.toolCalls,
      });
    }
  });
});

interface Event {
  type: string;
  index?: number;
  message?: JsonObject;
  content_block?: JsonObject;
  delta?: JsonObject;
  [field: string]: unknown;
}
const eventsOf = (text: string): Event[] =>
  [...text.matchAll(/^event: (\w+)\ndata: (.*)\n\n/gm)].map(([, name, data]) => {
    const event = JSON.parse(data ?? '') as Event;
    expect(event.type).toBe(name);
    return event;
  });

describe('a streamed message', () => {
  const streamed = (reply: ChatReply, deltas: ChatDelta[] = toDeltas(reply).filter(isContent)): Event[] => {
    const writer = anthropicStream(about);
    const pieces = deltas.map((delta) => writer.pieces([delta]));
    return eventsOf(pieces.join('') + writer.end({ reply, usage, credits: 3, attempts: 1 }));
  };

  it('says the signature of a call once, in its delta, because the Go SDK adds up all that it reads', () => {
    const call = { id: 'c', name: 'look', arguments: '{}', signature: 'sig' };
    const events = streamed(replied({ toolCalls: [call], finishReason: 'tool_calls' }));
    const start = events.findIndex((event) => event.content_block?.type === 'thinking');
    expect(events[start]?.content_block).toEqual({ type: 'thinking', thinking: '', signature: '' });
    expect(events[start + 1]?.delta).toMatchObject({ type: 'signature_delta' });
  });

  it('has one block after another, then the reason, the counts and what it cost', () => {
    const events = streamed(
      replied({
        thoughts: [{ kind: 'anthropic', text: 'Hm.', signature: 'sig' }],
        toolCalls: [{ id: 'c', name: 'look', arguments: '{"a":1}' }],
        finishReason: 'tool_calls',
      }),
    );
    expect(
      events.map(({ type, index, delta, content_block: block }) => [type, index, block?.type ?? delta?.type]),
    ).toEqual([
      ['message_start', undefined, undefined],
      ['content_block_start', 0, 'thinking'],
      ['content_block_delta', 0, 'thinking_delta'],
      ['content_block_delta', 0, 'signature_delta'],
      ['content_block_stop', 0, undefined],
      ['content_block_start', 1, 'text'],
      ['content_block_delta', 1, 'text_delta'],
      ['content_block_stop', 1, undefined],
      ['content_block_start', 2, 'tool_use'],
      ['content_block_delta', 2, 'input_json_delta'],
      ['content_block_stop', 2, undefined],
      ['message_delta', undefined, undefined],
      ['message_stop', undefined, undefined],
    ]);
    expect(events.at(-2)).toMatchObject({
      delta: { stop_reason: 'tool_use' },
      usage: { input_tokens: 20, output_tokens: 7 },
      tollgate: { credits: 3, attempts: 1 },
    });
  });

  it('begins a call with an empty delta, so that one that is cut there has its arguments', () => {
    const deltas: ChatDelta[] = [{ kind: 'tool_call', index: 0, id: 'c', name: 'look', arguments: '' }];
    const events = streamed(replied({ content: null, finishReason: 'length' }), deltas);
    expect(events.filter(({ type }) => type === 'content_block_delta')).toMatchObject([
      { delta: { type: 'input_json_delta', partial_json: '' } },
    ]);
  });

  it('ends as if it were cut where the arguments of a call are no object, as a whole message does', () => {
    const reply = replied({ toolCalls: [{ id: 'c', name: 'look', arguments: '{"a":' }], finishReason: 'tool_calls' });
    expect(streamed(reply).at(-2)).toMatchObject({ delta: { stop_reason: 'max_tokens' } });
  });

  it('without any content is a message all the same', () => {
    expect(streamed(replied({ content: null })).map(({ type }) => type)).toEqual([
      'message_start',
      'message_delta',
      'message_stop',
    ]);
  });

  it('ends with an error in the words of Anthropic if it breaks off', () => {
    const writer = anthropicStream(about);
    expect(eventsOf(writer.error(new GatewayError('upstream_error')))).toEqual([
      {
        type: 'error',
        error: {
          type: 'api_error',
          message: 'The upstream provider failed.',
          details: { error_code: 'upstream_error' },
        },
        request_id: 'req_1',
      },
    ]);
  });
});

describe('an error of the Anthropic dialect', () => {
  it.each([
    [400, 'invalid_request_error'],
    [401, 'authentication_error'],
    [402, 'billing_error'],
    [403, 'permission_error'],
    [404, 'not_found_error'],
    [409, 'invalid_request_error'],
    [413, 'request_too_large'],
    [429, 'rate_limit_error'],
    [502, 'api_error'],
    [503, 'overloaded_error'],
    [504, 'timeout_error'],
  ])('with the status %i is a %s and has our code and the field', (status, type) => {
    const error = new GatewayError('invalid_value', { param: 'model', message: 'no' });
    expect(anthropicError(error, status, 'req_2')).toEqual({
      type: 'error',
      error: { type, message: 'no', details: { error_code: 'invalid_value', param: 'model' } },
      request_id: 'req_2',
    });
  });

  it('tells the tool runners of the SDKs that threads are not stored here, in the code that they know', () => {
    const error = new GatewayError('unsupported_parameter', { param: 'thread', message: 'no' });
    expect(anthropicError(error, 400, 'req_2')).toMatchObject({
      error: { details: { error_code: 'thread_unsupported_request', param: 'thread' } },
    });
  });
});
