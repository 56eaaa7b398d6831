import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createUpstreamCaller, type UpstreamCaller } from '../../src/adapters/upstream/call-upstream.ts';
import { ChatStreamBroken, type Adapter, type ChatStream } from '../../src/adapters/channel.ts';
import { collectReply } from '../../src/adapters/chat/chat-events.ts';
import { createAdapters } from '../../src/adapters/registry.ts';
import { answerCharactersMax } from '../../src/domain/chat/answer-limit.ts';
import type { ChatReply, UpstreamChat } from '../../src/domain/chat/chat.ts';
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

const maxTokens = 200;
const most = answerCharactersMax(maxTokens);
/** Long enough that no test ends by it. */
const limits = { firstByteMs: 60_000, idleMs: 60_000, wholeMs: 60_000 };

describe.each(Object.keys(familyWires) as FamilyName[])('an answer of %s', (family) => {
  const wire = familyWires[family];
  const request = (): UpstreamChat => ({
    model: 'm',
    messages: [{ role: 'user', content: 'hello' }],
    tools: [],
    maxTokens,
    extra: {},
    ...(family === 'responses' && { traits: { api: 'responses' } }),
  });
  const upstream = () => ({ channelId: 'c', baseUrl: replies.url, credential: 'x' });
  const adapter = (): Adapter => createAdapters(caller)[wire.adapter] ?? {};
  const stream = async (answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<ChatStream> => {
    replies.answer(answer);
    const signal = new AbortController().signal;
    const attempt = await adapter().chatStream?.(upstream(), request(), { limits, signal });
    if (attempt?.kind !== 'ok') throw new Error(attempt?.detail);
    return attempt.value;
  };
  const sizeOf = ({ content, reasoning = '', toolCalls }: ChatReply): number =>
    (content ?? '').length + reasoning.length + toolCalls.reduce((sum, call) => sum + call.arguments.length, 0);

  /** Sends an event again and again, as long as it is read. */
  const pour = (event: (index: number) => string) => (_request: IncomingMessage, response: ServerResponse) => {
    beginEvents(response);
    response.write(wire.open(10));
    let sent = 0;
    const more = (): void => {
      while (!response.destroyed && response.write(event(sent++)));
    };
    response.on('drain', more);
    more();
  };

  it.each<[string, (index: number) => string]>([
    ['text', () => wire.text('word '.repeat(100))],
    ['thoughts', () => wire.thought('word '.repeat(100))],
    ['tool calls', (index) => wire.call(index, 'word '.repeat(100), true)],
    ['empty pieces of text', () => wire.text(' ')],
    ['one piece of 900,000 characters', () => wire.text('w'.repeat(900_000))],
  ])('that has endless %s ends as cut at its limit, and its provider is left', async (_what, event) => {
    let left = Promise.resolve();
    const endless = await stream((incoming, response) => {
      left = new Promise((resolve) => response.once('close', () => resolve()));
      pour(event)(incoming, response);
    });
    const reply = await collectReply(endless);
    expect(reply.finishReason).toBe('length');
    expect(sizeOf(reply)).toBeLessThanOrEqual(most);
    await left;
  });

  it('that comes whole is cut at its limit, and keeps the counts of its provider', async () => {
    const usage = { input: 10, output: 90_000 };
    replies.answer({ status: 200, body: wire.whole('word '.repeat(most), 'stop', usage) });
    const attempt = await adapter().chat?.(upstream(), request(), {});
    expect(attempt).toMatchObject({
      kind: 'ok',
      value: { finishReason: 'length', usage: { inputTokens: 10, outputTokens: 90_000 } },
    });
    if (attempt?.kind === 'ok') expect(sizeOf(attempt.value)).toBeLessThanOrEqual(most);
  });

  it.each([
    ['a line that never ends', (response: ServerResponse) => response.write(`data: ${'x'.repeat(3_000_000)}`)],
    [
      'an event that never ends',
      (response: ServerResponse) => response.write(`data: ${'x'.repeat(1_000)}\n`.repeat(3_000)),
    ],
  ])('breaks off at %s, and the provider is left', async (_what, write) => {
    let left = Promise.resolve();
    const endless = await stream((_request, response) => {
      left = new Promise((resolve) => response.once('close', () => resolve()));
      beginEvents(response);
      write(response);
    });
    const error: unknown = await collectReply(endless).catch((thrown: unknown) => thrown);
    expect(error instanceof ChatStreamBroken && error.attempt).toMatchObject({
      errorClass: 'unreadable',
      detail: 'HTTP 200, an event is too large',
    });
    await left;
  });
});
