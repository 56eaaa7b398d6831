import { GoogleGenAI, type Content, type Part } from '@google/genai';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
// The client asks globalThis for the dispatcher of Node's fetch, which exists only once undici is loaded.
import 'undici';
import { weather } from './dialect-client.ts';
import { families, familyNames } from './matrix.ts';
import { weatherPrompts, startSdkScene, type SdkScene } from './sdk-scene.ts';

let scene: SdkScene & { stop(): Promise<void> };
beforeAll(async () => {
  scene = await startSdkScene();
});
afterAll(() => scene?.stop());

let client: GoogleGenAI;

const { parameters: parametersJsonSchema, ...named } = weather;
const tools = [{ functionDeclarations: [{ ...named, parametersJsonSchema }] }];

/** Tests of the package `@google/genai`, of which only the base URL and the key are set. */
describe('@google/genai', () => {
  beforeAll(() => {
    const { gateway, apiKey } = scene;
    client = new GoogleGenAI({ apiKey, httpOptions: { baseUrl: gateway.baseUrl } });
  });

  it.each(familyNames)('runs an agent loop of several turns with tools and streams: %s', async (family) => {
    const contents: Content[] = [];
    const cities: unknown[] = [];
    for (const prompt of weatherPrompts) {
      contents.push({ role: 'user', parts: [{ text: `genai ${family} ${prompt}` }] });
      let text = '';
      for (let turn = 0; turn < 3 && text === ''; turn += 1) {
        const parts: Part[] = [];
        const config = { tools };
        const stream = await client.models.generateContentStream({ model: families[family], contents, config });
        for await (const { candidates } of stream) parts.push(...(candidates?.[0]?.content?.parts ?? []));
        contents.push({ role: 'model', parts });
        text = parts.map((part) => (part.thought ? '' : (part.text ?? ''))).join('');
        const calls = parts.flatMap(({ functionCall }) => functionCall ?? []);
        if (calls.length === 0) continue;
        cities.push(...calls.map(({ args }) => args?.['city']));
        const results = calls.map(({ id, name = '' }) => ({
          functionResponse: { ...(id !== undefined && { id }), name, response: { sky: 'rain' } },
        }));
        contents.push({ role: 'user', parts: results });
      }
      expect(text).toMatch(/^Sandbox answer to: /);
    }
    expect(cities).toEqual(['Oslo', 'Rome']);
  });
});
