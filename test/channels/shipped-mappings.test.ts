import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createUpstreamCaller, type UpstreamCaller } from '../../src/channels/call-upstream.ts';
import type { MediaRequest } from '../../src/channels/channel.ts';
import { createAdapters, type Adapters } from '../../src/channels/registry.ts';
import { loadCatalog } from '../../src/commands/catalog/load-catalog.ts';
import type { CatalogEntry } from '../../src/domain/catalog.ts';
import { toUpstreamChat, type ChatRequest } from '../../src/domain/chat.ts';
import { canMake } from '../../src/domain/offered-requests.ts';
import { acceptedParameters, listValues, resolveMediaRequest } from '../../src/domain/parameters.ts';
import { mapParameters, upstreamModel } from '../../src/domain/upstream-parameters.ts';
import { createSandbox, type Sandbox } from '../../src/sandbox/create-sandbox.ts';

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

const { entries } = await loadCatalog('catalog');
const picture =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const sound = 'data:audio/mpeg;base64,AAAA';
const film = 'data:video/mp4;base64,AAAA';

/** Requests that together have every offered value of every parameter, and every set of inputs that the model accepts. */
function requestsOf(entry: CatalogEntry): Record<string, unknown>[] {
  const { parameters } = entry.model;
  const flags: [boolean | undefined, Record<string, unknown>][] = [
    [parameters.image, { image: picture }],
    [parameters.reference_images, { reference_images: [picture] }],
    [parameters.video_url, { video_url: film }],
    [parameters.audio_url, { audio_url: sound }],
    [parameters.negative_prompt, { negative_prompt: 'blur' }],
  ];
  const inputs = flags.flatMap(([accepted, body]) => (accepted === true ? [body] : []));
  const offered = [...acceptedParameters(entry)].map(([key, accepted]) =>
    (listValues(accepted, 100) ?? []).map((value): Record<string, unknown> => ({ [key]: value })),
  );
  const values = offered.flat();
  // Some endpoints for clips from an image take less than those for text.
  const together = Object.assign({}, ...offered.map((ones) => ones[0])) as Record<string, unknown>;
  const needed = parameters.video_url === true ? { video_url: film } : {};
  const combined = inputs.reduce<Record<string, unknown>[]>(
    (all, input) => [...all, ...all.map((each) => ({ ...each, ...input }))],
    [{}],
  );
  return [...values, ...combined, ...combined.map((input) => ({ ...together, ...input }))].map((body) => ({
    prompt: 'a fox [[latency=0]]',
    ...needed,
    ...body,
  }));
}

const media = entries.filter(({ model }) => model.type !== 'chat' && model.status === 'active');
const mappings = media.flatMap((entry) =>
  Object.entries(entry.private.upstream).map(([family, mapping]) => ({ id: entry.model.id, family, entry, mapping })),
);

describe('a mapping of the shipped catalog', () => {
  it.each(mappings)(
    'sends only what the sandbox of its family takes, for every offered value and input: $id, $family',
    async ({ id, family, entry, mapping }) => {
      const adapter = adapters[family];
      const upstream = { channelId: 'c', baseUrl: `${sandbox.url}/sandbox-a/${family}`, credential: 'a:b' };
      for (const [index, body] of requestsOf(entry).entries()) {
        const { input } = resolveMediaRequest(entry, body);
        if (!canMake(mapping, input)) continue;
        const named = (url: unknown) => (typeof url === 'string' ? { url } : undefined);
        const [image, videoUrl, audioUrl] = [
          named(input['image']),
          named(input['video_url']),
          named(input['audio_url']),
        ];
        const references = [input['reference_images']].flat().filter((url) => typeof url === 'string');
        const request: MediaRequest = {
          type: entry.model.type === 'image' ? 'image' : 'video',
          model: upstreamModel(mapping, input),
          prompt: String(input['prompt']),
          parameters: mapParameters(mapping, input),
          idempotencyKey: `att_${id}_${index}`.replaceAll('.', '_'),
          ...(image && { image }),
          ...(references.length > 0 && { referenceImages: references.map((url) => ({ url })) }),
          ...(videoUrl && { videoUrl }),
          ...(audioUrl && { audioUrl }),
          ...(mapping.inputs && { inputNames: mapping.inputs }),
        };
        const attempt = await adapter?.submitMedia?.(upstream, request, { signal: AbortSignal.timeout(30_000) });
        expect([body, attempt]).toEqual([
          body,
          expect.objectContaining({ kind: expect.stringMatching(/^(ok|done)$/) }),
        ]);
      }
    },
  );

  const chats = entries.filter(({ model }) => model.type === 'chat' && model.status === 'active');
  const asked: ChatRequest = {
    ...{ model: 'm', messages: [{ role: 'user', content: 'Hi' }], tools: [], maxTokens: 1_024, extra: {} },
    ...{ temperature: 0.7, topP: 0.9, topK: 40, stop: ['END'] },
  };
  it.each(
    chats.flatMap(({ model, private: { upstream } }) =>
      Object.entries(upstream).map(([family, mapping]) => ({ id: model.id, family, mapping })),
    ),
  )('sends no sampling parameter that its model refuses: $id, $family', async ({ family, mapping }) => {
    const adapter = adapters[family];
    const supports = mapping.api === 'responses' ? adapter?.responsesSupports : adapter?.chatSupports;
    const { topK: _, ...without } = asked;
    const request = supports?.topK ? asked : without;
    const upstream = { channelId: 'c', baseUrl: `${sandbox.url}/sandbox-a/${family}`, credential: 'a:b' };
    const attempt = await adapter?.chat?.(upstream, toUpstreamChat(request, mapping), { timeoutMs: 10_000 });
    expect(attempt).toMatchObject({ kind: 'ok' });
  });

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
