import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createUpstreamCaller, type UpstreamCaller } from '../../src/adapters/upstream/call-upstream.ts';
import { createAdapters, type Adapters } from '../../src/adapters/registry.ts';
import { efforts } from '../../src/domain/catalog/catalog.ts';
import { toUpstreamChat, type ChatRequest } from '../../src/domain/chat/chat.ts';
import { createSandbox, type Sandbox } from '../../packages/sandbox/src/create-sandbox.ts';
import { entries, mappings, requestsOf, shippedRequest } from './shipped-requests.ts';

let sandbox: Sandbox;
let caller: UpstreamCaller;
let adapters: Adapters;
beforeAll(async () => {
  sandbox = await createSandbox();
  caller = createUpstreamCaller();
  adapters = createAdapters(caller);
});
afterAll(async () => {
  await caller.close();
  await sandbox.close();
});

describe('a mapping of the shipped catalog', () => {
  it.each(mappings)(
    'sends only what the sandbox of its family takes, for every offered value and input: $id, $family',
    async ({ id, family, entry, mapping }) => {
      const adapter = adapters[family];
      const upstream = { channelId: 'c', baseUrl: `${sandbox.url}/sandbox-a/${family}`, credential: 'a:b' };
      for (const [index, body] of requestsOf(entry).entries()) {
        const request = shippedRequest({ id, entry, mapping }, body, index);
        if (!request) continue;
        const attempt = await adapter?.submitMedia?.(upstream, request, { signal: AbortSignal.timeout(30_000) });
        expect([body, attempt]).toEqual([
          body,
          expect.objectContaining({ kind: expect.stringMatching(/^(ok|done)$/) }),
        ]);
      }
    },
  );

  const chats = entries.filter(({ model }) => model.type === 'chat' && model.status === 'active');
  const fullRequest: ChatRequest = {
    model: 'm',
    messages: [{ role: 'user', content: 'Hi' }],
    tools: [],
    maxTokens: 1_024,
    extra: {},
    temperature: 0.7,
    topP: 0.9,
    topK: 40,
    stop: ['END'],
  };
  const chatMappings = chats.flatMap(({ model, private: { upstream } }) =>
    Object.entries(upstream).map(([family, mapping]) => ({ id: model.id, family, mapping })),
  );
  const thinking = chatMappings.filter(({ mapping }) => mapping.thinking !== undefined || mapping.efforts);
  it.each(thinking)(
    'asks its model for thoughts in words that the model takes, whatever the client says: $id, $family',
    async ({ family, mapping }) => {
      const upstream = { channelId: 'c', baseUrl: `${sandbox.url}/sandbox-a/${family}`, credential: 'a:b' };
      const { topP: _p, topK: _k, ...others } = fullRequest;
      const requests = [
        ...efforts.map((effort) => ({ ...others, extra: { reasoning_effort: effort } })),
        { ...others, thinking: { mode: 'off' as const } },
      ];
      for (const request of requests) {
        const sent = toUpstreamChat(request, mapping);
        const attempt = await adapters[family]?.chat?.(upstream, sent, { timeoutMs: 10_000 });
        expect([request.extra, attempt]).toEqual([request.extra, expect.objectContaining({ kind: 'ok' })]);
      }
    },
  );

  it.each(chatMappings)(
    'sends no sampling parameter that its model refuses: $id, $family',
    async ({ family, mapping }) => {
      const adapter = adapters[family];
      const supports = mapping.api === 'responses' ? adapter?.responsesSupports : adapter?.chatSupports;
      const { topK: _, ...without } = fullRequest;
      const request = supports?.parameters.includes('top_k') ? fullRequest : without;
      const upstream = { channelId: 'c', baseUrl: `${sandbox.url}/sandbox-a/${family}`, credential: 'a:b' };
      const attempt = await adapter?.chat?.(upstream, toUpstreamChat(request, mapping), { timeoutMs: 10_000 });
      expect(attempt).toMatchObject({ kind: 'ok' });
    },
  );

  it('takes no longer input than OpenAI does, of whose context of 400,000 tokens a part is for the answer', () => {
    const mini = entries.find(({ model }) => model.id === 'gpt-5-mini');
    expect(mini?.private.context_tokens).toBe(272_000);
  });

  it('names no model that its provider has ended', () => {
    // From the deprecation pages and litellm 1.109.1, read on 2026-11-22.
    const ended =
      /^(gpt-image-1|dall-e-.*|sora-.*|gemini-3-pro-image-preview|gemini-3\.1-flash-image-preview|gemini-omni-flash-preview|veo-3\.1-.*-preview|deepseek-(chat|reasoner)|grok-imagine-image-(pro|quality)|seedance-1-0-.*|kimi-k2\.5|moonshot-v1-.*)$/;
    const active = entries.filter(({ model }) => model.status === 'active');
    const names = active.flatMap(({ private: { upstream } }) =>
      Object.values(upstream).flatMap(({ model, model_by }) => [model, ...Object.values(model_by?.values ?? {})]),
    );
    expect(names.filter((name) => ended.test(name))).toEqual([]);
    expect(names.length).toBeGreaterThan(50);
  });
});
