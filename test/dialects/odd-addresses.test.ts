import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { dialectNames, dialects, families } from './matrix.ts';
import { startSdkScene, type SdkScene } from './sdk-scene.ts';

let scene: SdkScene & { stop(): Promise<void> };
beforeAll(async () => {
  scene = await startSdkScene();
});
afterAll(() => scene?.stop());

const withQuery = (address: string, query: string): string => `${address}${address.includes('?') ? '&' : '?'}${query}`;
/** How programs write the address of a route: `base` is the gateway's, `path` that of the route. */
const spellings: Record<string, (base: string, path: string) => string> = {
  'a base URL that ends with a slash': (base, path) => `${base}/${path}`,
  'a slash twice after the version': (base, path) => base + path.replace(/^(\/v1\w*)/, '$1/'),
  'a slash at the end': (base, path) => base + path.replace(/(?=\?|$)/, '/'),
  'a path of Groq’s SDK': (base, path) => `${base}/openai${path}`,
  'the version of another vendor in the query': (base, path) => base + withQuery(path, 'api-version=2024-10-21'),
  'a parameter that nobody knows': (base, path) => base + withQuery(path, 'trace=1&trace=2'),
};

/** The addresses that programs make of the base URL that they are given, for each dialect. */
describe.each(dialectNames)('an address of %s', (dialect) => {
  const client = dialects[dialect];
  const ask = (isStream: boolean) => ({ model: families.Gemini, prompt: `an address of ${dialect}`, isStream });
  const post = (address: string, isStream: boolean, headers: Record<string, string> = {}) =>
    fetch(address, {
      method: 'POST',
      headers: { authorization: `Bearer ${scene.apiKey}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(client.body(ask(isStream))),
    });

  it.each(Object.entries(spellings))('is read with %s, whole and streamed', async (_name, spell) => {
    for (const isStream of [false, true]) {
      const answer = await post(spell(scene.gateway.baseUrl, client.path(ask(isStream))), isStream);
      expect({ status: answer.status, text: await answer.text() }).toMatchObject({ status: 200 });
    }
  });

  it('is refused with an unknown parameter where the client asks for a strict reading', async () => {
    const address = scene.gateway.baseUrl + withQuery(client.path(ask(false)), 'trace=1');
    const answer = await post(address, false, { 'x-tollgate-strict': 'true' });
    expect(answer.status).toBe(400);
    expect(client.error((await answer.json()) as Parameters<typeof client.error>[0])).toMatchObject({
      param: 'trace',
    });
  });
});

it('of the specification is read as it is written', async () => {
  const { gateway, apiKey } = scene;
  const body = { model: families.Gemini, messages: [{ role: 'user', content: 'hi' }] };
  const statusOf = async (path: string): Promise<number> =>
    (await gateway.create(apiKey, `/api/v1/chat/completions${path}`, body)).status;
  expect(await Promise.all(['', '/', '?trace=1'].map(statusOf))).toEqual([200, 404, 400]);
});
