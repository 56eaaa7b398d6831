import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import { weatherTool } from '../sdk/weather-tool.ts';
import { families, familyNames } from './matrix.ts';
import { weatherPrompts, startSdkScene, type SdkScene } from './sdk-scene.ts';

let scene: SdkScene & { stop(): Promise<void> };
beforeAll(async () => {
  scene = await startSdkScene();
});
afterAll(() => scene?.stop());

let client: OpenAI;

/** Tests of the chat completions of the package `openai`, of which only the base URL and the key are set. */
describe('openai, chat completions', () => {
  beforeAll(() => {
    const { gateway, apiKey } = scene;
    client = new OpenAI({ baseURL: `${gateway.baseUrl}/v1`, apiKey, maxRetries: 0 });
  });

  it.each(familyNames)('runs an agent loop of several turns with tools and streams: %s', async (family) => {
    let messages: OpenAI.ChatCompletionMessageParam[] = [];
    const cities: string[] = [];
    for (const prompt of weatherPrompts) {
      const runner = client.chat.completions.runTools({
        model: families[family],
        stream: true,
        messages: [...messages, { role: 'user', content: `chat ${family} ${prompt}` }],
        tools: [weatherTool(cities, 'rain')],
      });
      expect(await runner.finalContent()).toMatch(/^Sandbox answer to: /);
      messages = runner.messages;
    }
    expect(cities).toEqual(['Oslo', 'Rome']);
    expect(messages.map(({ role }) => role).filter((role) => role !== 'user')).toEqual([
      'assistant',
      'tool',
      'assistant',
      'assistant',
      'tool',
      'assistant',
    ]);
  });
});
