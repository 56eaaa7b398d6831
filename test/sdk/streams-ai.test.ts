import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { APICallError, isStepCount, streamText, tool } from 'ai';
import { z } from 'zod';
import { streamedModels, streamHits } from '../services/chat/streams.ts';
import { eventually } from '../support/eventually.ts';
import type { Gateway } from '../support/gateway.ts';
import { bufferedModel, weatherPrompt, startStreamScene, type StreamScene } from './stream-scene.ts';

let scene: StreamScene & { stop(): Promise<void> };
beforeAll(async () => {
  scene = await startStreamScene();
});
afterAll(() => scene?.stop());

let gateway: Gateway;
let modelOf: ReturnType<typeof createOpenAICompatible>;

/** Tests of the packages `ai` and `@ai-sdk/openai-compatible`. */
describe('with ai', () => {
  beforeAll(() => {
    const { apiKey } = scene;
    gateway = scene.gateway;
    const baseURL = `${gateway.baseUrl}/api/v1`;
    modelOf = createOpenAICompatible({ name: 'tollgate', baseURL, apiKey, includeUsage: true });
  });

  /** Reads a stream to its end, whatever that is. */
  const read = async (model: string, prompt: string, leaving = new AbortController(), leaves = false) => {
    const seen = { text: '', parts: new Set<string>(), errors: [] as unknown[] };
    const { fullStream } = streamText({
      model: modelOf(model),
      prompt,
      maxOutputTokens: 2_000,
      maxRetries: 0,
      abortSignal: leaving.signal,
      onError: ({ error }) => void seen.errors.push(error),
    });
    for await (const part of fullStream) {
      seen.parts.add(part.type);
      if (part.type !== 'text-delta') continue;
      seen.text += part.text;
      if (leaves) leaving.abort();
    }
    return seen;
  };

  describe.each([...Object.values(streamedModels), bufferedModel])('of %s', (model) => {
    it('have text, reason and usage', async () => {
      const result = streamText({ model: modelOf(model), prompt: 'streamed [[tokens=12]]' });
      expect((await result.text).split(' ')).toHaveLength(12);
      expect(await result.finishReason).toBe('stop');
      expect(await result.usage).toMatchObject({ outputTokens: 12 });
    });

    it('run a tool over two turns', async () => {
      const cities: string[] = [];
      const result = streamText({
        model: modelOf(model),
        prompt: weatherPrompt,
        stopWhen: isStepCount(3),
        tools: {
          weather: tool({
            inputSchema: z.object({ city: z.string() }),
            execute: ({ city }) => {
              cities.push(city);
              return 'rain';
            },
          }),
        },
      });
      expect(await result.text).toMatch(/^Sandbox answer to: weather\?/);
      expect(cities).toEqual(['Oslo']);
    });
  });

  it('can be left, and the provider is left too', async () => {
    const prompt = 'leave with ai [[tokens=2000 rate=50]]';
    const { parts } = await read(streamedModels.openai, prompt, new AbortController(), true);
    expect(parts).toContain('abort');
    await eventually(async () => (await streamHits(gateway, prompt))[0]?.left_at);
  });

  it('can be left before the answer of a model that is not streamed', async () => {
    const prompt = 'leave ai early [[latency=20000]]';
    const leaving = new AbortController();
    const reading = read(bufferedModel, prompt, leaving);
    await eventually(async () => (await streamHits(gateway, prompt)).length > 0);
    leaving.abort();
    const { text, parts } = await reading;
    expect(text).toBe('');
    expect(parts).toContain('abort');
  });

  it('that break off are an error, after what came before', async () => {
    const { text, errors } = await read(streamedModels.openai, 'broken for ai [[tokens=50 rate=200 break=10]]');
    expect(text.split(' ')).toHaveLength(10);
    expect(errors).toHaveLength(1);
  });

  it('that break off are an error for a provider that has a type for each event, too', async () => {
    const errors: unknown[] = [];
    const { text } = streamText({
      model: createOpenAI({ baseURL: `${gateway.baseUrl}/v1`, apiKey: scene.apiKey }).chat(streamedModels.openai),
      prompt: 'broken for a typed reader [[tokens=50 rate=200 break=10]]',
      maxRetries: 0,
      onError: ({ error }) => void errors.push(error),
    });
    expect((await text).split(' ')).toHaveLength(10);
    expect(errors).toMatchObject([{ code: 'upstream_error' }]);
  });

  it('are an error with a status when the answer of a model that is not streamed breaks off', async () => {
    const { text, errors } = await read(bufferedModel, 'buffered for ai [[tokens=50 break=10]]');
    expect(text).toBe('');
    const [error] = errors;
    expect(APICallError.isInstance(error) && error.statusCode).toBe(502);
  });
});
