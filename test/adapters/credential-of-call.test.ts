import { describe, expect, it } from '@jest/globals';
import type { Adapter, Upstream } from '../../src/adapters/channel.ts';
import type { UpstreamCaller } from '../../src/adapters/upstream/call-upstream.ts';
import { createAdapters } from '../../src/adapters/registry.ts';
import { addressOf, upstreamRequestOf, type UpstreamCall } from '../../src/adapters/upstream/upstream-request.ts';
import { toUpstreamChat, type UpstreamChat } from '../../src/domain/chat/chat.ts';
import { mappings, requestsOf, shippedRequest } from './shipped-requests.ts';

let sent: string[] = [];
const record = (upstream: Upstream, call: UpstreamCall) => {
  const address = addressOf(`${upstream.baseUrl}${call.path}`);
  if (!address) throw new Error('no address');
  const { path, headers } = upstreamRequestOf(address, upstream, call, { headersTimeout: 1 });
  sent.push(withTokensRead(`${path} ${JSON.stringify(headers)}`));
  return Promise.resolve({ kind: 'not_sent', detail: 'recorded' } as const);
};
const caller: UpstreamCaller = { call: record, stream: record, close: () => Promise.resolve() };
const adapters = createAdapters(caller);

/** Kling sends a token that it signs, whose content names the access key. */
const withTokensRead = (text: string): string =>
  text.replace(/Bearer ey[\w-]+\.([\w-]+)\.[\w-]+/, (_, body: string) => Buffer.from(body, 'base64url').toString());

const options = { signal: AbortSignal.timeout(30_000) };
const upstreamOf = (credential: string): Upstream => ({
  channelId: 'c',
  baseUrl: 'https://provider.test/v1',
  credential,
});

const question: UpstreamChat = toUpstreamChat(
  { model: 'm', messages: [{ role: 'user', content: 'hello' }], tools: [], maxTokens: 16, extra: {} },
  { model: 'm', parameters: {} },
);

/** What each family can be asked, with a credential. */
function callsOf(family: string, adapter: Adapter): [string, (upstream: Upstream) => unknown][] {
  const limits = { firstByteMs: 1_000, idleMs: 1_000, wholeMs: 1_000 };
  const media = mappings.find((mapping) => mapping.family === family);
  const [body] = media ? requestsOf(media.entry) : [];
  const request = media && body && shippedRequest(media, body, 0);
  const calls: [string, ((upstream: Upstream) => unknown) | undefined][] = [
    [
      'a whole chat',
      adapter.chat && ((upstream) => adapter.chat?.(upstream, question, { timeoutMs: 1_000, headersMs: 1_000 })),
    ],
    [
      'a streamed chat',
      adapter.chatStream && ((upstream) => adapter.chatStream?.(upstream, question, { ...options, limits })),
    ],
    ['a submit', request ? (upstream) => adapter.submitMedia?.(upstream, request, options) : undefined],
    ['the free call', adapter.probe && ((upstream) => adapter.probe?.(upstream, options))],
    ['the list of models', adapter.listModels && ((upstream) => adapter.listModels?.(upstream, options))],
  ];
  return calls.flatMap(([name, call]) => (call ? [[name, call] as [string, (upstream: Upstream) => unknown]] : []));
}

const table = Object.entries(adapters).flatMap(([family, adapter]) =>
  callsOf(family, adapter).map(([name, call]) => ({ family, name, call })),
);

describe('each call of a family', () => {
  it.each(table)('$family: $name sends the credential that it was given, and no other', async ({ call }) => {
    for (const [own, other] of [
      ['alpha', 'omega'],
      ['omega', 'alpha'],
    ] as const) {
      sent = [];
      await call(upstreamOf(`${own}-access:${own}-secret`));
      expect(sent.length).toBeGreaterThan(0);
      for (const text of sent) {
        expect(text).toContain(`${own}-access`);
        expect(text).not.toContain(other);
      }
    }
  });

  it('is in the table for every family', () => {
    expect([...new Set(table.map(({ family }) => family))]).toEqual(Object.keys(adapters));
  });
});
