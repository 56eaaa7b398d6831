import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI, { APIUserAbortError } from 'openai';
import { streamedModels, streamHits } from '../services/chat/streams.ts';
import { eventually } from '../support/eventually.ts';
import type { Gateway } from '../support/gateway.ts';
import { bufferedModel, weatherPrompt, startStreamScene, type StreamScene } from './stream-scene.ts';
import { weatherTool } from './weather-tool.ts';

let scene: StreamScene & { stop(): Promise<void> };
beforeAll(async () => {
  scene = await startStreamScene();
});
afterAll(() => scene?.stop());

let gateway: Gateway;
let client: OpenAI;

/** Tests of the package `openai`. */
describe('with the openai client', () => {
  beforeAll(() => {
    const { apiKey } = scene;
    gateway = scene.gateway;
    client = new OpenAI({ apiKey, baseURL: `${gateway.baseUrl}/api/v1`, maxRetries: 0 });
  });

  const begin = (model: string, content: string, signal?: AbortSignal) =>
    client.chat.completions.create(
      {
        model,
        messages: [{ role: 'user', content }],
        stream: true,
        stream_options: { include_usage: true },
        max_tokens: 4_000,
      },
      { signal },
    );

  describe.each([...Object.values(streamedModels), bufferedModel])('of %s', (model) => {
    it('have text, reason and usage', async () => {
      let text = '';
      let reason: string | null = null;
      let usage: OpenAI.CompletionUsage | null | undefined;
      for await (const chunk of await begin(model, 'streamed [[tokens=12]]')) {
        text += chunk.choices[0]?.delta.content ?? '';
        reason = chunk.choices[0]?.finish_reason ?? reason;
        usage = chunk.usage ?? usage;
      }
      expect(text.split(' ')).toHaveLength(12);
      expect(reason).toBe('stop');
      expect(usage).toMatchObject({ completion_tokens: 12 });
    });

    it('run a tool over two turns', async () => {
      const cities: string[] = [];
      const runner = client.chat.completions.runTools({
        model,
        stream: true,
        messages: [{ role: 'user', content: weatherPrompt }],
        tools: [weatherTool(cities, 'rain')],
      });
      expect(await runner.finalContent()).toMatch(/^Sandbox answer to: weather\?/);
      expect(cities).toEqual(['Oslo']);
    });
  });

  it('can be left, and the provider is left too', async () => {
    const prompt = 'leave with openai [[tokens=2000 rate=50]]';
    for await (const chunk of await begin(streamedModels.openai, prompt)) if (chunk.choices[0]?.delta.content) break;
    await eventually(async () => (await streamHits(gateway, prompt))[0]?.left_at);
  });

  it('can be left before the answer of a model that is not streamed', async () => {
    const prompt = 'leave openai early [[latency=20000]]';
    const leaving = new AbortController();
    const refused = expect(begin(bufferedModel, prompt, leaving.signal)).rejects.toBeInstanceOf(APIUserAbortError);
    await eventually(async () => (await streamHits(gateway, prompt)).length > 0);
    leaving.abort();
    await refused;
  });

  it('that break off are an error, after what came before', async () => {
    let text = '';
    const read = async (): Promise<void> => {
      for await (const chunk of await begin(streamedModels.openai, 'broken for openai [[tokens=50 rate=200 break=10]]'))
        text += chunk.choices[0]?.delta.content ?? '';
    };
    await expect(read()).rejects.toMatchObject({ code: 'upstream_error' });
    expect(text.split(' ')).toHaveLength(10);
  });

  it('are an error with a status when the answer of a model that is not streamed breaks off', async () => {
    await expect(begin(bufferedModel, 'buffered for openai [[tokens=50 break=10]]')).rejects.toMatchObject({
      status: 502,
      code: 'upstream_error',
    });
  });
});
