import { GoogleGenAI } from '@google/genai';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { AzureOpenAI } from 'openai';
import { dialectNames, dialects, families } from './matrix.ts';
import { startSdkScene, type SdkScene } from './sdk-scene.ts';
// Google's client asks globalThis for the dispatcher of Node's fetch, which exists only once undici is loaded.
import 'undici';

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
  'no version': (base, path) => base + path.replace(/^\/v1(?=\/(chat|responses))/, ''),
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

describe('an address of Vertex AI', () => {
  const prefixes = [
    '/v1beta1/publishers/google',
    '/v1/publishers/google',
    '/v1/projects/p-1/locations/global/publishers/google',
  ];

  it.each(prefixes)('is read behind %s, whole, streamed and for a count', async (prefix) => {
    for (const action of ['generateContent', 'streamGenerateContent?alt=sse', 'countTokens']) {
      const answer = await fetch(`${scene.gateway.baseUrl}${prefix}/models/${families.Gemini}:${action}`, {
        method: 'POST',
        headers: { 'x-goog-api-key': scene.apiKey, 'content-type': 'application/json' },
        body: JSON.stringify({ contents: [{ role: 'user', parts: [{ text: 'hi' }] }] }),
      });
      expect({ status: answer.status, text: await answer.text() }).toMatchObject({ status: 200 });
    }
  });

  it.each(prefixes)('is read behind %s for pictures', async (prefix) => {
    const answer = await fetch(`${scene.gateway.baseUrl}${prefix}/models/${families.Gemini}:predict`, {
      method: 'POST',
      headers: { 'x-goog-api-key': scene.apiKey, 'content-type': 'application/json' },
      body: JSON.stringify({ instances: [{ prompt: 'a fox' }] }),
    });
    // The route is found, and refuses a model for chats.
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining('MODEL_TYPE_MISMATCH')]);
  });

  it('is that of the SDK with a key', async () => {
    const { gateway, apiKey } = scene;
    const { models } = new GoogleGenAI({ vertexai: true, apiKey, httpOptions: { baseUrl: gateway.baseUrl } });
    const asking = { model: families.Gemini, contents: 'hi' };
    const { text: whole } = await models.generateContent(asking);
    let text = '';
    for await (const piece of await models.generateContentStream(asking)) text += piece.text;
    expect(text).toBe(whole);
  });
});

it('of the specification is read as it is written', async () => {
  const { gateway, apiKey } = scene;
  const body = { model: families.Gemini, messages: [{ role: 'user', content: 'hi' }] };
  const statusOf = async (path: string): Promise<number> =>
    (await gateway.create(apiKey, `/api/v1/chat/completions${path}`, body)).status;
  expect(await Promise.all(['', '/', '?trace=1'].map(statusOf))).toEqual([200, 404, 400]);
});

describe('an address of Azure OpenAI', () => {
  const messages = [{ role: 'user' as const, content: 'hi' }];

  it('is read from the client of its SDK, whole and streamed', async () => {
    const { gateway, apiKey } = scene;
    const client = new AzureOpenAI({ endpoint: gateway.baseUrl, apiKey, apiVersion: '2024-10-21' });
    for (const model of Object.values(families)) {
      const whole = await client.chat.completions.create({ model, messages });
      expect(whole).toMatchObject({ model, choices: [{ message: { role: 'assistant' } }] });
      let text = '';
      for await (const chunk of await client.chat.completions.create({ model, messages, stream: true }))
        text += chunk.choices[0]?.delta.content ?? '';
      expect(text).toBe(whole.choices[0]?.message.content);
    }
    const response = await client.responses.create({ model: families.Gemini, input: 'hi' });
    expect(response).toMatchObject({ object: 'response', status: 'completed', model: families.Gemini });
    expect((await client.models.list()).data).toContainEqual(expect.objectContaining({ id: families.Gemini }));
  });

  /** The status of a chat and the model that it says, or the field that it refuses. */
  const outcomeOf = async (path: string, body: object, headers: Record<string, string>): Promise<unknown[]> => {
    const answer = await fetch(scene.gateway.baseUrl + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    const { model, error } = (await answer.json()) as {
      model?: string;
      error?: { code: string; param: string | null };
    };
    return [answer.status, model ?? error?.param ?? error?.code];
  };
  const deployment = (model: string) => `/openai/deployments/${model}/chat/completions?api-version=2024-10-21`;

  it.each([
    ['names the model that the body does not', deployment('gpt-5-mini'), {}, [200, 'gpt-5-mini']],
    ['names the model of a body with null', deployment('gpt-5-mini'), { model: null }, [200, 'gpt-5-mini']],
    [
      'yields to the model of the body',
      deployment('gpt-5-mini'),
      { model: 'gemini-2.5-flash' },
      [200, 'gemini-2.5-flash'],
    ],
    ['may follow an endpoint that ends with a slash', `/${deployment('gpt-5-mini')}`, {}, [200, 'gpt-5-mini']],
    ['may have a slash in its model', deployment('openai/gpt-6-luna'), {}, [200, 'openai/gpt-6-luna']],
    ['may have an encoded slash in its model', deployment('openai%2Fgpt-6-luna'), {}, [200, 'openai/gpt-6-luna']],
    ['names no model by text that is not percent-encoded UTF-8', deployment('%E0%A4%A'), {}, [404, 'model']],
    ['may be one of the v1 API', '/openai/v1/chat/completions', { model: 'gpt-5-mini' }, [200, 'gpt-5-mini']],
    [
      'is the only one that takes a key as `api-key`',
      '/v1/chat/completions',
      { model: 'gpt-5-mini' },
      [401, 'invalid_api_key'],
    ],
  ])('%s', async (_name, path, body, expected) => {
    expect(await outcomeOf(path, { messages, ...body }, { 'api-key': scene.apiKey })).toEqual(expected);
  });

  it('refuses two keys, and names the deployment in requests for pictures', async () => {
    const two = { 'api-key': scene.apiKey, authorization: 'Bearer sk-other' };
    expect(await outcomeOf(deployment('gpt-5-mini'), { messages }, two)).toEqual([400, 'ambiguous_credentials']);
    const pictures = '/openai/deployments/no-such-model/images/generations';
    expect(await outcomeOf(pictures, { prompt: 'a fox' }, { 'api-key': scene.apiKey })).toEqual([404, 'model']);
  });
});
