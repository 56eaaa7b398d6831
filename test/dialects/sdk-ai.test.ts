import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { createOpenAI } from '@ai-sdk/openai';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { generateText, isStepCount, Output, streamText, tool, type LanguageModel } from 'ai';
import { z } from 'zod';
import { families, familyNames } from './matrix.ts';
import { startSdkScene, type SdkScene } from './sdk-scene.ts';

let scene: SdkScene & { stop(): Promise<void> };
beforeAll(async () => {
  scene = await startSdkScene();
});
afterAll(() => scene?.stop());

const providers = ['@ai-sdk/openai', '@ai-sdk/anthropic', '@ai-sdk/google'] as const;
let modelOf: Record<(typeof providers)[number], (name: string) => LanguageModel>;

/** Tests of the package `ai` with the providers of the three vendors. */
describe.each(providers)('ai with %s', (provider) => {
  beforeAll(() => {
    const { gateway, apiKey } = scene;
    const baseURL = `${gateway.baseUrl}/v1`;
    modelOf = {
      '@ai-sdk/openai': (name) => createOpenAI({ baseURL, apiKey }).responses(name),
      '@ai-sdk/anthropic': (name) => createAnthropic({ baseURL, apiKey })(name),
      '@ai-sdk/google': (name) => createGoogleGenerativeAI({ baseURL: `${gateway.baseUrl}/v1beta`, apiKey })(name),
    };
  });

  it.each(familyNames)('runs an agent loop with tools and streams: %s', async (family) => {
    const cities: string[] = [];
    const result = streamText({
      model: modelOf[provider](families[family]),
      prompt: `${provider} ${family} weather? [[thoughts=20 tool=weather args={"city":"Oslo"}]]`,
      maxOutputTokens: 2_000,
      maxRetries: 0,
      stopWhen: isStepCount(3),
      providerOptions: { openai: { store: false }, anthropic: { thinking: { type: 'adaptive' } } },
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
    expect(await result.text).toMatch(/^Sandbox answer to: /);
    expect(await result.finishReason).toBe('stop');
    expect((await result.usage).outputTokens).toBeGreaterThan(0);
    expect(cities).toEqual(['Oslo']);
  });

  it('gets an object that matches a schema', async () => {
    const { output } = await generateText({
      model: modelOf[provider](families.Anthropic),
      prompt: 'the weather',
      maxRetries: 0,
      providerOptions: { openai: { store: false } },
      output: Output.object({ schema: z.object({ city: z.string() }) }),
    });
    expect(output).toEqual({ city: 'sandbox' });
  });
});
