import { ApiError, GoogleGenAI, type Content, type FunctionCall, type GenerateContentConfig } from '@google/genai';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { streamedModels, streamHits } from '../services/chat/streams.ts';
import { eventually } from '../support/eventually.ts';
import type { Gateway } from '../support/gateway.ts';
import { bufferedModel, weatherPrompt, startStreamScene, type StreamScene } from './stream-scene.ts';
// Google's client asks globalThis for the dispatcher of Node's fetch, which exists only once undici is loaded.
import 'undici';

let scene: StreamScene & { stop(): Promise<void> };
beforeAll(async () => {
  scene = await startStreamScene();
});
afterAll(() => scene?.stop());

let gateway: Gateway;
let client: GoogleGenAI;

/** What came of a stream. */
interface Seen {
  texts: string[];
  calls: FunctionCall[];
  /** The parts of the answer, as the next turn repeats them. */
  content: Content;
  tokens: number | undefined;
  reason: string | undefined;
}

/** Tests of the package `@google/genai`. */
describe('with @google/genai', () => {
  beforeAll(() => {
    const { apiKey } = scene;
    gateway = scene.gateway;
    client = new GoogleGenAI({ apiKey, apiVersion: 'v1beta', httpOptions: { baseUrl: `${gateway.baseUrl}/api` } });
  });

  /** Reads a stream into `seen`, until it ends or `leaves`. */
  const read = async (
    model: string,
    contents: string | Content[],
    { config, seen = nothing(), leaves }: { config?: GenerateContentConfig; seen?: Seen; leaves?: () => void } = {},
  ): Promise<Seen> => {
    const stream = await client.models.generateContentStream({ model, contents, ...(config && { config }) });
    for await (const chunk of stream) {
      const [candidate] = chunk.candidates ?? [];
      if (chunk.text) seen.texts.push(chunk.text);
      seen.calls.push(...(chunk.functionCalls ?? []));
      seen.content.parts?.push(...(candidate?.content?.parts ?? []));
      seen.tokens = chunk.usageMetadata?.candidatesTokenCount ?? seen.tokens;
      seen.reason = candidate?.finishReason ?? seen.reason;
      if (chunk.text) leaves?.();
    }
    return seen;
  };
  const nothing = (): Seen => ({
    texts: [],
    calls: [],
    content: { role: 'model', parts: [] },
    tokens: undefined,
    reason: undefined,
  });

  describe.each([...Object.values(streamedModels), bufferedModel])('of %s', (model) => {
    it('have text, reason and usage', async () => {
      const { texts, tokens, reason } = await read(model, 'pieces [[tokens=30]]');
      expect(texts.join('').split(' ')).toHaveLength(30);
      expect({ tokens, reason }).toEqual({ tokens: 30, reason: 'STOP' });
    });

    it('run a function over two turns', async () => {
      const config = { tools: [{ functionDeclarations: [{ name: 'weather' }] }] };
      const question: Content = { role: 'user', parts: [{ text: weatherPrompt }] };
      const { calls, content } = await read(model, [question], { config });
      expect(calls).toEqual([expect.objectContaining({ name: 'weather', args: { city: 'Oslo' } })]);
      const [call] = calls;
      const functionResponse = { ...(call?.id && { id: call.id }), name: 'weather', response: { sky: 'rain' } };
      const { texts } = await read(model, [question, content, { role: 'user', parts: [{ functionResponse }] }], {
        config,
      });
      expect(texts.join('')).toMatch(/^Sandbox answer to: weather\?/);
    });
  });

  it('arrive in pieces', async () => {
    // Pieces that arrive together become one, and a busy gateway may read those of seconds together.
    const prompt = 'slow pieces [[tokens=30 rate=4]]';
    const seen = await Promise.all(Object.values(streamedModels).map((model) => read(model, prompt)));
    for (const { texts } of seen) expect(texts.length).toBeGreaterThan(1);
  });

  it('can be left, and the provider is left too', async () => {
    const prompt = 'leave with genai [[tokens=2000 rate=50]]';
    const leaving = new AbortController();
    const reading = read(streamedModels.gemini, prompt, {
      config: { abortSignal: leaving.signal, maxOutputTokens: 4_000 },
      leaves: () => leaving.abort(),
    });
    await expect(reading).rejects.toThrow(/abort/i);
    await eventually(async () => (await streamHits(gateway, prompt))[0]?.left_at);
  });

  it('can be left before the answer of a model that is not streamed', async () => {
    const prompt = 'leave genai early [[latency=20000]]';
    const leaving = new AbortController();
    const refused = expect(read(bufferedModel, prompt, { config: { abortSignal: leaving.signal } })).rejects.toThrow(
      /abort/i,
    );
    await eventually(async () => (await streamHits(gateway, prompt)).length > 0);
    leaving.abort();
    await refused;
  });

  it('that break off are an error, after what came before', async () => {
    const seen = nothing();
    const error = await read(streamedModels.gemini, 'broken for genai [[tokens=50 rate=200 break=10]]', {
      seen,
    }).then(
      () => null,
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ status: 502 });
    expect(seen.texts.join('').split(' ')).toHaveLength(10);
  });

  it('are an error with a status when the answer of a model that is not streamed breaks off', async () => {
    const config = { maxOutputTokens: 2_000 };
    await expect(read(bufferedModel, 'buffered for genai [[tokens=50 break=10]]', { config })).rejects.toMatchObject({
      status: 502,
    });
  });
});
