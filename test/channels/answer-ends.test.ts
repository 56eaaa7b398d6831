import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import { createUpstreamCaller, type UpstreamCaller } from '../../src/channels/call-upstream.ts';
import { ChatStreamBroken, type Adapter } from '../../src/channels/channel.ts';
import { collectReply } from '../../src/channels/chat-events.ts';
import { createAdapters } from '../../src/channels/registry.ts';
import type { ChatReply, UpstreamChat } from '../../src/domain/chat.ts';
import type { Attempt } from '../../src/domain/upstream.ts';
import { beginEvents, familyWires, type FamilyName } from '../support/family-wires.ts';
import { createReplyServer, type ReplyServer } from './reply-server.ts';

let replies: ReplyServer;
let caller: UpstreamCaller;
beforeAll(async () => {
  replies = await createReplyServer();
  caller = createUpstreamCaller();
});
afterAll(async () => {
  await caller.close();
  await replies.close();
});

/** Long enough that no test ends by it. */
const limits = { firstByteMs: 60_000, idleMs: 60_000, wholeMs: 60_000 };
const upstream = () => ({ channelId: 'c', baseUrl: replies.url, credential: 'x' });
const requestTo = (family: FamilyName): UpstreamChat => ({
  model: 'm',
  messages: [{ role: 'user', content: 'hello' }],
  tools: [],
  maxTokens: 200,
  extra: {},
  ...(family === 'responses' && { traits: { api: 'responses' } }),
});
const adapterOf = (family: FamilyName): Adapter => createAdapters(caller)[familyWires[family].adapter] ?? {};

/** The outcome of a streamed answer that `send` writes. */
async function streamed(family: FamilyName, send: (response: ServerResponse) => void): Promise<Attempt<ChatReply>> {
  replies.answer((_request, response) => {
    beginEvents(response);
    send(response);
  });
  const signal = new AbortController().signal;
  const attempt = await adapterOf(family).chatStream?.(upstream(), requestTo(family), { limits, signal });
  if (attempt?.kind !== 'ok') return attempt ?? Promise.reject(new Error('no stream'));
  try {
    return { kind: 'ok', value: await collectReply(attempt.value) };
  } catch (error) {
    if (error instanceof ChatStreamBroken) return error.attempt;
    throw error;
  }
}

async function whole(family: FamilyName, body: object): Promise<Attempt<ChatReply>> {
  replies.answer({ status: 200, body });
  return (await adapterOf(family).chat?.(upstream(), requestTo(family), {})) ?? Promise.reject(new Error('no chat'));
}

const event = (json: object): string => `data: ${JSON.stringify(json)}\n\n`;
const usage = { input: 10, output: 20 };

/** A family's answer with any finish word, streamed and whole. */
const words: Record<
  'openai' | 'anthropic' | 'gemini',
  { end: (word: unknown) => string; whole: (text: string, word: unknown) => object }
> = {
  openai: {
    end: (word) => event({ choices: [{ index: 0, delta: {}, finish_reason: word }] }),
    whole: (content, word) => ({ choices: [{ message: { role: 'assistant', content }, finish_reason: word }] }),
  },
  anthropic: {
    end: (word) => event({ type: 'message_delta', delta: { stop_reason: word } }) + event({ type: 'message_stop' }),
    whole: (text, word) => ({ type: 'message', content: [{ type: 'text', text }], stop_reason: word }),
  },
  gemini: {
    end: (word) => event({ candidates: [{ content: { parts: [{ text: '' }] }, finishReason: word }] }),
    whole: (text, word) => ({
      candidates: [{ content: { parts: [{ text, thoughtSignature: 'x' }] }, finishReason: word }],
    }),
  },
};

const meanings = {
  stop: {
    openai: ['stop', 'STOP', 'eos'],
    anthropic: ['end_turn', 'END_TURN', 'pause_turn'],
    gemini: ['STOP', 'stop'],
  },
  length: {
    openai: [
      ...['length', 'LENGTH', 'MAX_TOKENS', 'max_tokens', 'model_length', 'model_context_window_exceeded'],
      'max_output_tokens',
    ],
    anthropic: ['max_tokens', 'MAX_TOKENS', 'model_context_window_exceeded', 'length'],
    gemini: ['MAX_TOKENS', 'max_tokens', 'LENGTH'],
  },
  content_filter: {
    openai: ['content_filter', 'content-filter', 'CONTENT_FILTER', 'SAFETY', 'sensitive', 'RECITATION'],
    anthropic: ['refusal', 'REFUSAL', 'content_filter'],
    gemini: ['SAFETY', 'safety', 'RECITATION', 'PROHIBITED_CONTENT', 'SPII', 'BLOCKLIST'],
  },
  failure: {
    openai: [
      ...['network_error', 'NETWORK_ERROR', 'abort', 'error', 'insufficient_system_resource', 'engine_overloaded'],
      ...['function_call_filter: MALFORMED_FUNCTION_CALL', 'function_call_filter: UNEXPECTED_TOOL_CALL'],
      'MALFORMED_FUNCTION_CALL',
    ],
    anthropic: ['network_error', 'abort', 'MALFORMED_FUNCTION_CALL'],
    gemini: ['MALFORMED_FUNCTION_CALL', 'UNEXPECTED_TOOL_CALL', 'MALFORMED_RESPONSE', 'TOO_MANY_TOOL_CALLS', 'abort'],
  },
};

const cases = (Object.keys(meanings) as (keyof typeof meanings)[]).flatMap((meaning) =>
  (Object.keys(words) as (keyof typeof words)[]).flatMap((family) =>
    meanings[meaning][family].map((word) => [family, word, meaning] as const),
  ),
);

describe('the reason of an answer', () => {
  it.each(cases)('%s: %s means %s, streamed and whole', async (family, word, meaning) => {
    const wire = familyWires[family];
    const outcomes = [
      await streamed(family, (response) => response.end(wire.open(1) + wire.text('half') + words[family].end(word))),
      await whole(family, words[family].whole('half', word)),
    ];
    for (const outcome of outcomes) {
      if (meaning === 'failure') expect(outcome).toMatchObject({ kind: 'transient' });
      else expect(outcome).toMatchObject({ kind: 'ok', value: { content: 'half', finishReason: meaning } });
    }
  });

  it.each(['MALFORMED_FUNCTION_CALL', 'UNEXPECTED_TOOL_CALL', 'OTHER', 'IMAGE_OTHER'])(
    'gemini: %s beside an empty text is a failure, streamed and whole',
    async (word) => {
      const failed = { kind: 'transient', errorClass: 'job_failed' };
      expect(await streamed('gemini', (response) => response.end(words.gemini.end(word)))).toMatchObject(failed);
      expect(await whole('gemini', words.gemini.whole('', word))).toMatchObject(failed);
    },
  );

  it.each(['', '  ', null, undefined])(
    'is none if its word is %p, so a stream that is cut after it broke off',
    async (word) => {
      for (const family of Object.keys(words) as (keyof typeof words)[]) {
        const wire = familyWires[family];
        // Without the last event of the protocol.
        const half = words[family].end(word).split('\n\n')[0] ?? '';
        const send = (response: ServerResponse) => response.end(`${wire.open(1)}${wire.text('half')}${half}\n\n`);
        expect(await streamed(family, send)).toMatchObject({ kind: 'transient' });
      }
    },
  );
});

describe.each(Object.keys(familyWires) as FamilyName[])('an answer of %s', (family) => {
  const wire = familyWires[family];

  it('ends at its logical end though its provider keeps the connection open', async () => {
    let left = Promise.resolve();
    const outcome = await streamed(family, (response) => {
      left = new Promise((resolve) => response.once('close', () => resolve()));
      const end = wire.end('stop', usage).replace('data: [DONE]\n\n', '');
      response.write(wire.open(10) + wire.text('all') + end);
      const beat = setInterval(() => response.write(': keep-alive\n\n'), 100);
      response.once('close', () => clearInterval(beat));
    });
    expect(outcome).toMatchObject({
      kind: 'ok',
      value: { content: 'all', finishReason: 'stop', usage: { inputTokens: 10, outputTokens: 20 } },
    });
    await left;
  });

  it('ends though its provider sends no counts and keeps the connection open', async () => {
    let left = Promise.resolve();
    const outcome = await streamed(family, (response) => {
      left = new Promise((resolve) => response.once('close', () => resolve()));
      response.write(wire.open(null) + wire.text('all') + wire.end('length', null).replace('data: [DONE]\n\n', ''));
    });
    expect(outcome).toMatchObject({ kind: 'ok', value: { content: 'all', finishReason: 'length', usage: null } });
    await left;
  });

  it('that stops beside a tool call has the reason tool_calls', async () => {
    const send = (response: ServerResponse) =>
      response.end(wire.open(1) + wire.call(0, '{"a":"}"}', true) + wire.end('stop', usage));
    expect(await streamed(family, send)).toMatchObject({ kind: 'ok', value: { finishReason: 'tool_calls' } });
  });

  // Gemini sends the arguments as an object.
  if (family !== 'gemini') {
    it.each(['{"path":"/data/a', '{"path":"/data/a"', '{"a":[1,2', '{"a":"\\"}'])(
      'that claims to be complete with the arguments %s broke off',
      async (piece) => {
        const send = (response: ServerResponse) =>
          response.end(wire.open(1) + wire.call(0, piece, true) + wire.end('stop', usage));
        expect(await streamed(family, send)).toMatchObject({ kind: 'transient' });
        const cut = (response: ServerResponse) =>
          response.end(wire.open(1) + wire.call(0, piece, true) + wire.end('length', usage));
        expect(await streamed(family, cut)).toMatchObject({
          kind: 'ok',
          value: { finishReason: 'length', toolCalls: [{ arguments: piece }] },
        });
      },
    );
  }
});

describe('a whole answer', () => {
  const calling = (args: string, finish_reason: string) => ({
    choices: [{ message: { tool_calls: [{ id: 'a', function: { name: 'f', arguments: args } }] }, finish_reason }],
  });

  it('that stops beside a tool call has the reason tool_calls', async () => {
    const outcome = await whole('openai', calling('{}', 'stop'));
    expect(outcome).toMatchObject({ kind: 'ok', value: { finishReason: 'tool_calls' } });
  });

  it('that claims to be complete with cut arguments is none', async () => {
    expect(await whole('openai', calling('{"a":"b', 'tool_calls'))).toMatchObject({ kind: 'transient' });
    expect(await whole('openai', calling('{"a":"b', 'length'))).toMatchObject({ kind: 'ok' });
  });
});
