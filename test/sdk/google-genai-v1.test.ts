import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { GoogleGenAI, type GenerateImagesConfig } from '@google/genai';
import { generateText } from 'ai';
import { probeBytes } from '../../src/platform/media/probe-media.ts';
import { startGateway, type Gateway, type TestProject } from '../support/gateway.ts';
// The client asks globalThis for the dispatcher of Node's fetch, which exists only once undici is loaded.
import 'undici';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ env: { RATE_LIMIT_REST_SECONDS: '12' } });
});
afterAll(() => gateway?.stop());

let project: TestProject;

const chat = 'gemini-2.5-flash';
const picture = 'nano-banana-pro';
const sized = 'aurora-image-1';

/** Tests of Google's clients with nothing but base URL and key. */
const clientOf = (apiKey = project.apiKey, { base = '', apiVersion }: { base?: string; apiVersion?: string } = {}) =>
  new GoogleGenAI({
    apiKey,
    httpOptions: { baseUrl: gateway.baseUrl + base, timeout: 120_000, ...(apiVersion && { apiVersion }) },
  });

describe('@google/genai without an API version', () => {
  beforeAll(async () => {
    project = await gateway.project();
  });

  it.each([{}, { apiVersion: 'v1beta' }, { apiVersion: 'v1beta', base: '/api' }])(
    'lists models in pages, and gets one: %j',
    async (where) => {
      const { models } = clientOf(project.apiKey, where);
      const names: string[] = [];
      for await (const { name = '', ...limits } of await models.list({ config: { pageSize: 3 } })) {
        names.push(name);
        // google-gemini-php reads no list with a model that lacks one of the two.
        expect(limits).toMatchObject({ inputTokenLimit: expect.any(Number), outputTokenLimit: expect.any(Number) });
      }
      expect(names.length).toBeGreaterThan(10);
      expect(new Set(names).size).toBe(names.length);
      expect(names).toEqual(expect.arrayContaining([`models/${chat}`, `models/${picture}`]));
      expect(names).not.toContain('models/veo-3.1');
      expect(await models.get({ model: chat })).toMatchObject({
        name: `models/${chat}`,
        displayName: expect.any(String),
        inputTokenLimit: expect.any(Number),
        outputTokenLimit: 65_536,
        supportedActions: ['generateContent', 'streamGenerateContent', 'countTokens'],
      });
    },
  );

  it('shows a key only the models that it may use', async () => {
    const narrow = await gateway.project({ models: [chat] });
    const { models } = clientOf(narrow.apiKey);
    const names: (string | undefined)[] = [];
    for await (const { name } of await models.list()) names.push(name);
    expect(names).toEqual([`models/${chat}`]);
    await expect(models.get({ model: 'gemini-3.8-flash' })).rejects.toMatchObject({ status: 404 });
    await expect(clientOf('sk-nobody').models.list()).rejects.toMatchObject({ status: 401 });
  });

  it.each([{}, { apiVersion: 'v1beta' }, { base: '/api' }])(
    'generates text, a stream and a picture: %j',
    async (where) => {
      const { models } = clientOf(project.apiKey, where);
      expect((await models.generateContent({ model: chat, contents: 'hi' })).text).toBe('Sandbox answer to: hi');
      const texts: (string | undefined)[] = [];
      const stream = await models.generateContentStream({ model: chat, contents: 'hi' });
      for await (const { text } of stream) texts.push(text);
      expect(texts.join('')).toBe('Sandbox answer to: hi');
      const made = await models.generateContent({ model: picture, contents: 'a fox' });
      expect(made.data).toMatch(/^[\w+/]+=*$/);
    },
  );

  it.each([
    // With nothing but base URL and key; older versions send the second one.
    [{ vertexai: true }, {}],
    [{ vertexai: true }, { apiVersion: 'v1beta' }],
  ])('generates pictures by generateImages: %j %j', async (mode, version) => {
    const { models } = new GoogleGenAI({
      apiKey: project.apiKey,
      ...mode,
      httpOptions: { baseUrl: gateway.baseUrl, timeout: 120_000, ...version },
    });
    const generate = (config: GenerateImagesConfig = {}) =>
      models.generateImages({
        model: 'apiVersion' in version ? `models/${sized}` : sized,
        prompt: 'a fox by predict',
        config,
      });
    const made = await generate({
      numberOfImages: 1,
      aspectRatio: '16:9',
      imageSize: '2K',
      outputMimeType: 'image/jpeg',
    });
    expect(made.generatedImages).toHaveLength(1);
    const { imageBytes = '', mimeType } = made.generatedImages?.[0]?.image ?? {};
    expect(await probeBytes(Buffer.from(imageBytes, 'base64'))).toMatchObject({ mime_type: mimeType });
    expect(made.sdkHttpResponse?.headers?.['x-tollgate-credits']).toBe('8');

    for (const [config, param] of [
      [{ numberOfImages: 4 }, 'parameters.sampleCount'],
      [{ aspectRatio: '21:9' }, 'parameters.aspectRatio'],
      [{ guidanceScale: 7 }, 'parameters.guidanceScale'],
      [{ outputMimeType: 'image/webp' }, 'parameters.outputOptions'],
    ] as const) {
      await expect(generate(config)).rejects.toMatchObject({ status: 400, message: expect.stringContaining(param) });
    }
  });

  it('may ask for any length, which is clamped', async () => {
    const answerOf = (maxOutputTokens: number) =>
      clientOf().models.generateContent({ model: chat, contents: 'hello there', config: { maxOutputTokens } });
    const much = await answerOf(1_000_000);
    expect(much.sdkHttpResponse?.headers?.['x-tollgate-clamped']).toBe('generationConfig.maxOutputTokens=65536');
    expect((await answerOf(1)).usageMetadata?.candidatesTokenCount).toBe(1);
  });

  it('works as the Google provider of ai', async () => {
    const google = createGoogleGenerativeAI({ apiKey: project.apiKey, baseURL: `${gateway.baseUrl}/v1beta` });
    expect((await generateText({ model: google(chat), prompt: 'hi' })).text).toBe('Sandbox answer to: hi');
  });
});
