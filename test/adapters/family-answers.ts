import type { ServerResponse } from 'node:http';
import { createUpstreamCaller } from '../../src/adapters/upstream/call-upstream.ts';
import { ChatStreamBroken, type Adapter } from '../../src/adapters/channel.ts';
import { collectReply } from '../../src/adapters/chat/chat-events.ts';
import { createAdapters } from '../../src/adapters/registry.ts';
import type { ChatReply, UpstreamChat } from '../../src/domain/chat/chat.ts';
import type { ChatDelta } from '../../src/domain/chat/chat-stream.ts';
import type { Attempt } from '../../src/domain/channels/upstream.ts';
import { beginEvents, familyWires, type FamilyName } from '../support/family-wires.ts';
import { createReplyServer } from './reply-server.ts';

/** Long enough that no test ends by it. */
const limits = { firstByteMs: 60_000, idleMs: 60_000, wholeMs: 60_000 };

const requestTo = (family: FamilyName): UpstreamChat => ({
  model: 'm',
  messages: [{ role: 'user', content: 'hello' }],
  tools: [],
  maxTokens: 200,
  extra: {},
  ...(family === 'responses' && { traits: { api: 'responses' } }),
});

/** What the adapters of all families make of answers that a real server sends. */
export async function openFamilyAnswers() {
  const replies = await createReplyServer();
  const caller = createUpstreamCaller();
  const upstream = { channelId: 'c', baseUrl: replies.url, credential: 'x' };
  const adapterOf = (family: FamilyName): Adapter => createAdapters(caller)[familyWires[family].adapter] ?? {};

  const open = async (family: FamilyName, send: (response: ServerResponse) => void) => {
    replies.answer((_request, response) => {
      beginEvents(response);
      send(response);
    });
    const signal = new AbortController().signal;
    const attempt = await adapterOf(family).chatStream?.(upstream, requestTo(family), { limits, signal });
    return attempt ?? Promise.reject(new Error('no stream'));
  };

  return {
    /** The outcome of a streamed answer that `send` writes. */
    async streamed(family: FamilyName, send: (response: ServerResponse) => void): Promise<Attempt<ChatReply>> {
      const attempt = await open(family, send);
      if (attempt.kind !== 'ok') return attempt;
      try {
        return { kind: 'ok', value: await collectReply(attempt.value) };
      } catch (error) {
        if (error instanceof ChatStreamBroken) return error.attempt;
        throw error;
      }
    },

    /** The pieces of a streamed answer. */
    async pieces(family: FamilyName, events: string): Promise<ChatDelta[]> {
      const attempt = await open(family, (response) => response.end(events));
      if (attempt.kind !== 'ok') throw new Error(`no stream: ${JSON.stringify(attempt)}`);
      const all: ChatDelta[] = [];
      await attempt.value.each((pieces) => {
        all.push(...pieces);
        return undefined;
      });
      return all;
    },

    async whole(family: FamilyName, body: object, status = 200): Promise<Attempt<ChatReply>> {
      replies.answer({ status, body });
      return (await adapterOf(family).chat?.(upstream, requestTo(family), {})) ?? Promise.reject(new Error('no chat'));
    },

    close: () => Promise.all([caller.close(), replies.close()]),
  };
}
export type FamilyAnswers = Awaited<ReturnType<typeof openFamilyAnswers>>;
