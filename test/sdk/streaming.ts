import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { GoogleGenAI } from '@google/genai';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { isStepCount, streamText, tool } from 'ai';
import OpenAI from 'openai';
import { z } from 'zod';
import { letModelsStream, streamedModels, streamHits } from '../commands/chat/streams.ts';
import { eventually } from '../support/eventually.ts';
import type { Gateway, TestProject } from '../support/gateway.ts';

let gateway: Gateway;
let project: TestProject;
let openai: OpenAI;

/** A model whose catalog entry says `stream: false`. */
const bufferedModel = 'deepseek-v3.2';

/** Tests of streams with unmodified client libraries. They let models stream, so they come after all tests of models that do not. */
export const describeStreaming = (started: () => Gateway): void =>
  describe('streams', () => {
    beforeAll(async () => {
      gateway = started();
      project = await gateway.project({ credits: 100_000 });
      await letModelsStream(gateway, project.apiKey);
      openai = new OpenAI({ apiKey: project.apiKey, baseURL: `${gateway.baseUrl}/api/v1`, maxRetries: 0 });
    });

    describe.each([...Object.values(streamedModels), bufferedModel])('of %s with the openai client', (model) => {
      it('have text, reason and usage', async () => {
        const stream = await openai.chat.completions.create({
          model,
          messages: [{ role: 'user', content: 'streamed [[tokens=12]]' }],
          stream: true,
          stream_options: { include_usage: true },
        });
        let text = '';
        let usage: OpenAI.CompletionUsage | null | undefined;
        for await (const chunk of stream) {
          text += chunk.choices[0]?.delta.content ?? '';
          usage = chunk.usage ?? usage;
        }
        expect(text.split(' ')).toHaveLength(12);
        expect(usage).toMatchObject({ completion_tokens: 12 });
      });

      it('run a tool over two turns', async () => {
        const asked: string[] = [];
        const runner = openai.chat.completions.runTools({
          model,
          stream: true,
          messages: [{ role: 'user', content: 'weather? [[tool=weather args={"city":"Oslo"}]]' }],
          tools: [
            {
              type: 'function',
              function: {
                name: 'weather',
                description: 'The weather of a city',
                parameters: { type: 'object', properties: { city: { type: 'string' } } },
                parse: (text: string) => z.object({ city: z.string() }).parse(JSON.parse(text)),
                function: ({ city }: { city: string }) => {
                  asked.push(city);
                  return 'rain';
                },
              },
            },
          ],
        });
        expect(await runner.finalContent()).toMatch(/^Sandbox answer to: weather\?/);
        expect(asked).toEqual(['Oslo']);
      });
    });

    it('can be left with the openai client, and the provider is left too', async () => {
      const prompt = 'leave with openai [[tokens=2000 rate=50]]';
      const stream = await openai.chat.completions.create({
        model: streamedModels.openai,
        messages: [{ role: 'user', content: prompt }],
        stream: true,
        max_tokens: 4_000,
      });
      for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break;
      await eventually(async () => (await streamHits(gateway, prompt))[0]?.left_at);
    });

    it('that break off are an error of the openai client, after what came before', async () => {
      const stream = await openai.chat.completions.create({
        model: streamedModels.openai,
        messages: [{ role: 'user', content: 'broken for openai [[tokens=50 rate=200 break=10]]' }],
        stream: true,
      });
      let text = '';
      const read = async (): Promise<void> => {
        for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
      };
      await expect(read()).rejects.toMatchObject({ code: 'upstream_error' });
      expect(text.split(' ')).toHaveLength(10);
    });

    it.each([...Object.values(streamedModels), bufferedModel])('of %s work with ai', async (model) => {
      const provider = createOpenAICompatible({
        name: 'tollgate',
        baseURL: `${gateway.baseUrl}/api/v1`,
        apiKey: project.apiKey,
        includeUsage: true,
      });
      const asked: string[] = [];
      const result = streamText({
        model: provider(model),
        prompt: 'weather? [[tool=weather args={"city":"Oslo"}]]',
        stopWhen: isStepCount(3),
        tools: {
          weather: tool({
            inputSchema: z.object({ city: z.string() }),
            execute: ({ city }) => {
              asked.push(city);
              return 'rain';
            },
          }),
        },
      });
      expect(await result.text).toMatch(/^Sandbox answer to: weather\?/);
      expect(asked).toEqual(['Oslo']);
      expect((await result.usage).outputTokens).toBeGreaterThan(0);
    });

    it('that break off are an error of ai, after what came before', async () => {
      const provider = createOpenAICompatible({
        name: 'tollgate',
        baseURL: `${gateway.baseUrl}/api/v1`,
        apiKey: project.apiKey,
      });
      const errors: unknown[] = [];
      const { fullStream } = streamText({
        model: provider(streamedModels.openai),
        prompt: 'broken for ai [[tokens=50 rate=200 break=10]]',
        maxRetries: 0,
        onError: ({ error }) => void errors.push(error),
      });
      let text = '';
      for await (const part of fullStream) if (part.type === 'text-delta') text += part.text;
      expect(text.split(' ')).toHaveLength(10);
      expect(errors).toHaveLength(1);
    });

    it.each(Object.values(streamedModels))('of %s arrive in pieces with @google/genai', async (model) => {
      const genai = new GoogleGenAI({
        apiKey: project.apiKey,
        apiVersion: 'v1beta',
        httpOptions: { baseUrl: `${gateway.baseUrl}/api` },
      });
      const stream = await genai.models.generateContentStream({ model, contents: 'pieces [[tokens=30 rate=60]]' });
      const texts: string[] = [];
      let tokens: number | undefined;
      let reason: string | undefined;
      for await (const chunk of stream) {
        texts.push(chunk.text ?? '');
        tokens = chunk.usageMetadata?.candidatesTokenCount ?? tokens;
        reason = chunk.candidates?.[0]?.finishReason ?? reason;
      }
      expect(texts.filter((text) => text !== '').length).toBeGreaterThan(1);
      expect(texts.join('').split(' ')).toHaveLength(30);
      expect({ tokens, reason }).toEqual({ tokens: 30, reason: 'STOP' });
    });

    it('call a function with @google/genai', async () => {
      const genai = new GoogleGenAI({
        apiKey: project.apiKey,
        apiVersion: 'v1beta',
        httpOptions: { baseUrl: `${gateway.baseUrl}/api` },
      });
      const stream = await genai.models.generateContentStream({
        model: streamedModels.anthropic,
        contents: 'weather? [[tool=weather args={"city":"Oslo"}]]',
        config: { tools: [{ functionDeclarations: [{ name: 'weather' }] }] },
      });
      const calls = [];
      for await (const chunk of stream) calls.push(...(chunk.functionCalls ?? []));
      expect(calls).toEqual([expect.objectContaining({ name: 'weather', args: { city: 'Oslo' } })]);
    });
  });
