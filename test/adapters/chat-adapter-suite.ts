import { z } from 'zod';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  createUpstreamCaller,
  type UpstreamCaller,
  type UpstreamTimeouts,
} from '../../src/adapters/upstream/call-upstream.ts';
import type { Adapter, CallOptions, Upstream } from '../../src/adapters/channel.ts';
import { toUpstreamChat, type ChatReply, type UpstreamChat } from '../../src/domain/chat/chat.ts';
import { unsupportedBy } from '../../src/domain/chat/chat-supports.ts';
import type { JsonObject } from '../../src/domain/json.ts';
import type { Attempt } from '../../src/domain/channels/upstream.ts';
import { createSandbox, type Sandbox } from '../../packages/sandbox/src/create-sandbox.ts';
import { createReplyServer, type CannedReply, type ReplyServer } from './reply-server.ts';

/** One family's part of the suite. */
export interface ChatFamily {
  /** The name in the sandbox's paths. */
  family: string;
  create: (caller: UpstreamCaller) => Adapter;
  /** Saved good answers and the replies that they become. */
  answers: { name: string; body: unknown; expected: Partial<ChatReply> }[];
  /** 2xx bodies with wrong types or without a usable answer. */
  unusable: unknown[];
  /** Saved errors. Their prose contains the word `secret-marker`, which must not appear in a `detail`. */
  errors: { name: string; reply: CannedReply; expected: Partial<Attempt<ChatReply>> & { clientCode?: string } }[];
  /** Request fields that this family does not support. */
  unsupported: [field: string, request: Partial<UpstreamChat>][];
  /** `fullRequest` in this family's wire format. */
  wire: { path: string; headers: Record<string, string>; body: JsonObject };
}

const png = 'data:image/png;base64,iVBORw0KGgo=';

/** A conversation with every feature that all families support. */
export const fullRequest: UpstreamChat = {
  model: 'upstream-model',
  messages: [
    { role: 'system', content: 'Be brief.' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'What is it?' },
        { type: 'image', url: png },
        { type: 'text', text: '' },
      ],
    },
    {
      role: 'assistant',
      content: 'Let me look.',
      toolCalls: [
        { id: 'call_1', name: 'look', arguments: '{"zoom":2}' },
        { id: 'call.2', name: 'look', arguments: '{"zoom":' },
      ],
    },
    { role: 'tool', toolCallId: 'call_1', content: '{"seen":"a fox"}' },
    { role: 'tool', toolCallId: 'call.2', content: 'nothing' },
    { role: 'developer', content: 'In English.' },
    { role: 'user', content: 'So?' },
  ],
  tools: [
    {
      name: 'look',
      description: 'Looks closer.',
      parameters: { type: 'object', properties: { zoom: { type: 'number' } } },
    },
    { name: 'rest' },
  ],
  toolChoice: { name: 'look' },
  maxTokens: 300,
  temperature: 1.5,
  topP: 0.9,
  stop: ['END'],
  extra: {},
};

type ChatAdapter = Adapter & Required<Pick<Adapter, 'chat' | 'chatSupports' | 'probe'>>;
const isChatAdapter = (adapter: Adapter): adapter is ChatAdapter =>
  'chat' in adapter && 'chatSupports' in adapter && 'probe' in adapter;

/** The contract of every chat adapter, tested against the sandbox and against saved replies. */
export function chatAdapterSuite(of: ChatFamily): void {
  describe(`the ${of.family} adapter`, () => {
    let sandbox: Sandbox;
    let replies: ReplyServer;
    const callers: UpstreamCaller[] = [];
    let adapter: ChatAdapter;
    beforeAll(async () => {
      sandbox = await createSandbox();
      replies = await createReplyServer();
      adapter = adapterWith({});
    });
    afterAll(async () => {
      await Promise.all(callers.map((caller) => caller.close()));
      await Promise.all([sandbox.close(), replies.close()]);
    });

    function adapterWith(timeouts: Partial<UpstreamTimeouts>): ChatAdapter {
      const caller = createUpstreamCaller(timeouts);
      callers.push(caller);
      const created = of.create(caller);
      if (!isChatAdapter(created)) throw new Error('not a chat adapter');
      return created;
    }

    const options = (): CallOptions => ({ signal: AbortSignal.timeout(60_000) });
    const inSandbox = (channel = 'sandbox-a'): Upstream => ({
      channelId: channel,
      baseUrl: `${sandbox.url}/${channel}/${of.family}`,
      credential: 'test-credential',
    });
    const canned = (): Upstream => ({ channelId: 'canned', baseUrl: replies.url, credential: 'test-credential' });
    const asking = (content: string, more: Partial<UpstreamChat> = {}): UpstreamChat => ({
      model: 'some-model',
      messages: [{ role: 'user', content }],
      tools: [],
      maxTokens: 200,
      extra: {},
      ...more,
    });
    const chat = (content: string, more: Partial<UpstreamChat> = {}) =>
      adapter.chat(inSandbox(), asking(content, more), options());
    const answered = async (content: string, more: Partial<UpstreamChat> = {}): Promise<ChatReply> => {
      const attempt = await chat(content, more);
      if (attempt.kind !== 'ok') throw new Error(`not answered: ${JSON.stringify(attempt)}`);
      return attempt.value;
    };
    const hits = async (text: string): Promise<{ kind: string; channel: string; family: string }[]> => {
      const response = await fetch(`${sandbox.url}/_sandbox/hits?contains=${encodeURIComponent(text)}`);
      return JSON.parse(await response.text()) as { kind: string; channel: string; family: string }[];
    };
    const tools = [{ name: 'look' }, { name: 'rest', parameters: { type: 'object' } }];

    it('returns the answer with its usage from one call', async () => {
      const reply = await answered('suite hello');
      expect(reply).toMatchObject({ refusal: null, toolCalls: [], finishReason: 'stop' });
      expect(reply.content).toContain('suite hello');
      expect(reply.usage?.inputTokens).toBe(3);
      expect(reply.usage?.outputTokens).toBeGreaterThan(0);
      expect(await hits('suite hello')).toMatchObject([{ kind: 'chat', channel: 'sandbox-a', family: of.family }]);
    });

    it('reports an answer that was cut at the requested length', async () => {
      expect(await answered('suite long '.repeat(10), { maxTokens: 5 })).toMatchObject({ finishReason: 'length' });
    });

    it('returns a tool call, and then the answer to its result', async () => {
      const first = await answered('suite tool [[tool=look args={"a":[1,"]]"]}]]', { tools });
      expect(first).toMatchObject({ finishReason: 'tool_calls', toolCalls: [{ name: 'look' }] });
      expect(JSON.parse(first.toolCalls[0]?.arguments ?? '')).toEqual({ a: [1, ']]'] });
      const attempt = await adapter.chat(
        inSandbox(),
        asking('', {
          tools,
          messages: [
            { role: 'user', content: 'suite tool [[tool=look args={"a":[1,"]]"]}]]' },
            { role: 'assistant', content: first.content, toolCalls: first.toolCalls },
            { role: 'tool', toolCallId: first.toolCalls[0]?.id ?? '', content: 'seen' },
          ],
        }),
        options(),
      );
      expect(attempt).toMatchObject({ kind: 'ok', value: { finishReason: 'stop', toolCalls: [] } });
    });

    it.each<[string, UpstreamChat['toolChoice'], string[]]>([
      ['one tool', { name: 'rest' }, ['rest']],
      ['any tool', 'required', ['look']],
      ['no tool', 'none', []],
      ['the choice of the model', 'auto', []],
    ])('sends the tool choice of the request: %s', async (_name, toolChoice, expected) => {
      const reply = await answered('suite choose', { tools, ...(toolChoice && { toolChoice }) });
      expect(reply.toolCalls.map(({ name }) => name)).toEqual(expected);
    });

    it('returns the reported usage, and null without one', async () => {
      expect((await answered('x [[usage=1200,34]]')).usage).toMatchObject({ inputTokens: 1_200, outputTokens: 34 });
      expect((await answered('x [[usage=none]]')).usage).toBeNull();
      expect((await answered('x [[usage=-5,-1]]')).usage).toMatchObject({ inputTokens: -5, outputTokens: -1 });
    });

    it('returns thoughts apart from the answer, and counts them and cached tokens as parts of the usage', async () => {
      const reply = await answered('suite think [[thoughts=30 cached=4]]');
      expect(reply).toMatchObject({
        reasoning: expect.stringMatching(/^the gate is open/),
        usage: { cachedTokens: 4, reasoningTokens: 30 },
      });
      expect(reply.content).toMatch(/^Sandbox answer to: suite think/);
      expect(reply.usage?.inputTokens).toBeGreaterThan(4);
      expect(reply.usage?.outputTokens).toBeGreaterThan(30);
      expect(await answered('suite plain')).not.toHaveProperty('reasoning');
    });

    it('returns no text if the thoughts used up the requested length', async () => {
      const reply = await answered('suite deep [[thoughts=900]]', { maxTokens: 100 });
      expect(reply).toMatchObject({ finishReason: 'length', usage: { outputTokens: 100, reasoningTokens: 100 } });
      expect(reply.content ?? '').toBe('');
    });

    it('recognises an empty answer', async () => {
      const reply = await answered('x [[fail=no_output]]');
      expect(reply).toMatchObject({ toolCalls: [], usage: { outputTokens: 0 } });
      expect(reply.content ?? '').toBe('');
    });

    it('returns JSON on request', async () => {
      const reply = await answered('x', { responseFormat: { type: 'json_object' } });
      expect(JSON.parse(reply.content ?? '')).toEqual(expect.any(Object));
    });

    it('returns JSON that fits a schema', async () => {
      const schema: JsonObject = {
        type: 'object',
        properties: { n: { type: 'integer' }, list: { type: 'array', items: { enum: ['a'] } } },
      };
      const reply = await answered('x', { responseFormat: { type: 'json_schema', name: 's', schema } });
      expect(JSON.parse(reply.content ?? '')).toEqual({ n: 1, list: ['a'] });
    });

    it('sends a request that has a system message only', async () => {
      const attempt = await adapter.chat(
        inSandbox(),
        asking('', { messages: [{ role: 'system', content: 'Say hello.' }] }),
        options(),
      );
      expect(attempt).toMatchObject({ kind: 'ok' });
    });

    it.each<[string, Partial<Attempt<ChatReply>> & { clientCode?: string }]>([
      ['transient', { kind: 'transient', errorClass: 'provider_error', status: 503 }],
      ['rate_limit', { kind: 'transient', errorClass: 'rate_limit', status: 429, retryAfterSeconds: 7 }],
      ['refused', { kind: 'refused', errorClass: 'content_policy', clientCode: 'content_policy_violation' }],
      ['flagged', { kind: 'refused', errorClass: 'content_policy', clientCode: 'content_policy_violation' }],
      ['auth', { kind: 'transient', errorClass: 'account', status: 401 }],
      ['forbidden', { kind: 'transient', errorClass: 'forbidden', status: 403 }],
      ['reset', { kind: 'transient', errorClass: 'interrupted' }],
      ['malformed', { kind: 'transient', errorClass: 'unreadable', status: 200 }],
      ['empty', { kind: 'transient', errorClass: 'unreadable', status: 200 }],
      ['huge', { kind: 'transient', errorClass: 'unreadable', status: 200 }],
      ['lost', { kind: 'transient', errorClass: 'unknown_model', status: 404 }],
      ['late_fail', { kind: 'transient', errorClass: 'provider_error', status: 500 }],
    ])('classifies the failure of a chat: %s', async (word, expected) => {
      expect(await chat(`suite fail ${word} [[fail=${word}]]`)).toMatchObject(expected);
      expect((await hits(`suite fail ${word} `)).map(({ kind }) => kind)).toEqual(['chat']);
    });

    // Each has its own limit, because on a busy machine any answer may be late.
    it.each<[string, Partial<UpstreamTimeouts>, Partial<Attempt<ChatReply>>]>([
      ['hang', { headersMs: 500 }, { timedOut: 'unanswered' }],
      ['stall', { idleBodyMs: 500 }, { timedOut: 'answering' }],
      ['never', { headersMs: 500 }, {}],
    ])('interrupts a chat that meets %s', async (word, timeouts, expected) => {
      const request = asking(`suite fail ${word} [[fail=${word}]]`);
      expect(await adapterWith(timeouts).chat(inSandbox(), request, options())).toMatchObject({
        kind: 'transient',
        errorClass: 'interrupted',
        ...expected,
      });
      expect((await hits(`suite fail ${word} `)).map(({ kind }) => kind)).toEqual(['chat']);
    });

    it('fails on the channel and as often as the sandbox script says', async () => {
      const text = 'suite once [[fail=transient on=sandbox-a times=1]]';
      const kinds: string[] = [];
      for (const channel of ['sandbox-b', 'sandbox-a', 'sandbox-a']) {
        kinds.push((await adapter.chat(inSandbox(channel), asking(text), options())).kind);
      }
      expect(kinds).toEqual(['ok', 'transient', 'ok']);
    });

    it('translates every field into its wire format and always sends the length', async () => {
      replies.answer({ status: 500 });
      await adapter.chat(canned(), fullRequest, options());
      const [sent] = replies.received;
      expect(sent).toMatchObject({ method: 'POST', path: of.wire.path, headers: of.wire.headers });
      expect(JSON.parse(sent?.body ?? '')).toEqual(of.wire.body);
    });

    it('sends no turn of which nothing is left, which providers refuse', async () => {
      replies.answer({ status: 500 });
      const thought = { role: 'assistant', content: null, toolCalls: [], reasoning: 'Hm.' } as const;
      const messages = [
        { role: 'user', content: 'first' },
        { ...thought, toolCalls: [] },
        { role: 'user', content: [] },
        { role: 'user', content: 'second' },
      ] satisfies UpstreamChat['messages'];
      await adapter.chat(canned(), asking('', { messages }), options());
      const { body } = replies.received[0] ?? {};
      expect(body).toMatch(/first.*second/s);
      expect(body).not.toMatch(/assistant|"model"[,}\]]|"content":(null|\[\])/);
    });

    it('omits the sampling parameters that the catalog leaves out, and sends its fixed fields', async () => {
      replies.answer({ status: 500 });
      const request = { ...asking('x'), temperature: 0.5, topP: 0.9, topK: 5, stop: ['.'] };
      const parameters = { temperature: null, top_p: null, top_k: null, stop: null };
      // One of them is a field that the adapter sends itself.
      const fixed = { thinking: { type: 'disabled' }, thinkingConfig: { thinkingBudget: 0 }, verbosity: 'low' };
      const sent = toUpstreamChat(request, { model: 'some-model', parameters, fixed });
      await adapter.chat(canned(), sent, options());
      expect(replies.received[0]?.body).not.toMatch(/temperature|top_?p|top_?k|stop/i);
      const body = z.looseObject({}).parse(JSON.parse(replies.received[0]?.body ?? ''));
      expect(body['generationConfig'] ?? body).toMatchObject(fixed);
    });

    it.each(of.answers.map((saved) => [saved.name, saved] as const))(
      'reads the saved answer: %s',
      async (_name, saved) => {
        replies.answer({ status: 200, body: saved.body });
        const attempt = await adapter.chat(canned(), asking('x'), options());
        expect(attempt.kind).toBe('ok');
        expect(attempt.kind === 'ok' && attempt.value).toMatchObject(saved.expected);
      },
    );

    it.each(of.errors.map((saved) => [saved.name, saved] as const))(
      'reads the saved error: %s',
      async (_name, saved) => {
        replies.answer(saved.reply);
        const attempt = await adapter.chat(canned(), asking('x'), options());
        expect(attempt).toMatchObject(saved.expected);
        expect(attempt.kind === 'ok' ? '' : attempt.detail).not.toContain('secret-marker');
      },
    );

    it('refuses a 2xx answer with wrong types or without content as unreadable', async () => {
      for (const body of [{}, [], null, 'ok', 7, { error: { message: 'secret-marker' } }, ...of.unusable]) {
        replies.answer({ status: 200, body });
        const attempt = await adapter.chat(canned(), asking('x'), options());
        expect([body, attempt]).toEqual([
          body,
          expect.objectContaining({ kind: 'transient', errorClass: 'unreadable' }),
        ]);
      }
    });

    it.each<[string, CannedReply, string]>([
      ['a 500 page', { status: 500, text: '<h1>oops</h1>' }, 'unreadable'],
      ['a 502 page', { status: 502, text: 'bad gateway' }, 'unreadable'],
      ['a 503 page', { status: 503, text: 'away' }, 'provider_error'],
      ['a 504 page', { status: 504, text: '' }, 'unreadable'],
      ['truncated JSON', { status: 200, text: '{"choices":[{"mess' }, 'unreadable'],
      ['NaN in JSON', { status: 200, text: '{"usage":NaN}' }, 'unreadable'],
      [
        'a compressed answer that was not requested',
        { status: 200, text: 'x', headers: { 'content-encoding': 'gzip' } },
        'unreadable',
      ],
      ['a redirect', { status: 307, headers: { location: 'http://127.0.0.1:1/' } }, 'redirect'],
      ['a conflict', { status: 409, body: {} }, 'interrupted'],
      ['a 408', { status: 408, text: '' }, 'interrupted'],
      ['a 425', { status: 425, text: '' }, 'interrupted'],
      ['a 402', { status: 402, text: '' }, 'account'],
      ['a 403', { status: 403, text: '' }, 'forbidden'],
      ['a 404 page', { status: 404, text: 'nothing here' }, 'unknown_model'],
    ])('lets another channel try after %s', async (_name, reply, errorClass) => {
      replies.answer(reply);
      expect(await adapter.chat(canned(), asking('x'), options())).toMatchObject({ kind: 'transient', errorClass });
      expect(replies.received).toHaveLength(1);
    });

    it.each([400, 413, 422])('refuses the request after a %i from any sender', async (status) => {
      replies.answer({ status, text: 'no' });
      expect(await adapter.chat(canned(), asking('x'), options())).toMatchObject({
        kind: 'refused',
        code: 'upstream_failed',
        clientCode: 'invalid_value',
      });
    });

    it('reads no compressed bomb, and no more than 8 MB', async () => {
      const bomb = gzipSync(Buffer.alloc(20_000_000, ' '));
      replies.answer((_request, response) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
        response.end(bomb);
      });
      expect(await adapter.chat(canned(), asking('x'), options())).toMatchObject({ errorClass: 'unreadable' });
      replies.answer({ status: 200, text: `"${'x'.repeat(8_000_001)}"` });
      expect(await adapter.chat(canned(), asking('x'), options())).toMatchObject({
        errorClass: 'unreadable',
        detail: expect.stringContaining('too_large'),
      });
    });

    it('lets another channel try if nothing was sent, and after an answer that was cut off', async () => {
      const gone = await createReplyServer();
      await gone.close();
      expect(await adapter.chat({ ...canned(), baseUrl: gone.url }, asking('x'), options())).toMatchObject({
        kind: 'transient',
        errorClass: 'connect',
      });
      replies.answer((_request, response) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': 500 });
        response.write('{"choices":');
        setTimeout(() => response.destroy(), 20);
      });
      expect(await adapter.chat(canned(), asking('x'), options())).toMatchObject({ kind: 'transient' });
    });

    it('ends when its signal aborts', async () => {
      const leaving = new AbortController();
      replies.answer(() => leaving.abort());
      const attempt = await adapter.chat(canned(), asking('x'), { ...options(), signal: leaving.signal });
      expect(attempt).toMatchObject({ kind: 'transient', errorClass: 'interrupted' });
    });

    it('declares every field that it does not support, and no other', () => {
      for (const [field, more] of of.unsupported) {
        expect(unsupportedBy(adapter.chatSupports, asking('x', more))).toBe(field);
      }
      expect(unsupportedBy(adapter.chatSupports, fullRequest)).toBeNull();
    });

    it('probes for free: success, a refused credential and an unreadable answer', async () => {
      expect(await adapter.probe(inSandbox(), options())).toEqual({ kind: 'ok', value: true });
      expect(await adapter.probe({ ...inSandbox(), credential: '' }, options())).toMatchObject({
        errorClass: 'account',
      });
      replies.answer({ status: 200, text: '<html></html>' });
      expect(await adapter.probe(canned(), options())).toMatchObject({ errorClass: 'unreadable' });
    });
  });
}
