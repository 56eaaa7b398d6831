import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { objectAt, parsed } from './json-at.ts';
import { dialectNames, dialects, families, familyNames } from './matrix.ts';
import { eventsIn, startSdkScene, type SdkScene } from './sdk-scene.ts';

let scene: SdkScene & { stop(): Promise<void> };
beforeAll(async () => {
  scene = await startSdkScene();
});
afterAll(() => scene?.stop());

/** Claude Code, Claude Desktop and health checks ask for one token, to see whether a model answers. */
describe.each(dialectNames)('a request of %s for one token', (dialect) => {
  const client = dialects[dialect];

  it.each(familyNames)('is answered by %s, whole and streamed', async (family) => {
    const { gateway, apiKey } = scene;
    for (const isStream of [false, true]) {
      const ask = { model: families[family], prompt: `probe ${dialect} ${family}`, isStream, maxTokens: 1 };
      const answer = await fetch(gateway.baseUrl + client.path(ask), {
        method: 'POST',
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
        body: JSON.stringify(client.body(ask)),
      });
      const text = await answer.text();
      expect({ status: answer.status, text }).toMatchObject({ status: 200 });
      // OpenAI's Responses API takes 16 or more, and the client is told.
      const clamped = answer.headers.get('x-tollgate-clamped');
      expect(clamped?.split('=').at(-1)).toBe(family === 'OpenAI Responses' ? '16' : undefined);
      const { usage } = client.read(isStream ? client.join(eventsIn(text)) : objectAt(parsed(text)));
      expect(usage.output).toBeLessThanOrEqual(clamped === null ? 1 : 16);
    }
  });
});

describe('a model whose name ends in [1m]', () => {
  it.each(['claude-haiku-5.5[1m]', 'claude-haiku-4-5-20251001[1m]'])('is the one without: %s', async (model) => {
    const { gateway, apiKey } = scene;
    const body = { model, max_tokens: 50, messages: [{ role: 'user', content: 'hi' }] };
    for (const path of ['/v1/messages', '/v1/messages/count_tokens']) {
      const { max_tokens: _, ...counted } = body;
      const answer = await fetch(gateway.baseUrl + path, {
        method: 'POST',
        headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
        body: JSON.stringify(path.endsWith('count_tokens') ? counted : body),
      });
      expect(answer.status).toBe(200);
    }
  });
});
