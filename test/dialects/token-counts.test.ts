import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { GoogleGenAI } from '@google/genai';
import OpenAI from 'openai';
import type { JsonObject } from '../../src/domain/json.ts';
import { countAt, objectAt, parsed } from './json-at.ts';
import { dialects, families, familyNames, type DialectName } from './matrix.ts';
import { startSdkScene, type SdkScene } from './sdk-scene.ts';
// Google's client asks globalThis for the dispatcher of Node's fetch, which exists only once undici is loaded.
import 'undici';

let scene: SdkScene & { stop(): Promise<void> };
beforeAll(async () => {
  scene = await startSdkScene();
});
afterAll(() => scene?.stop());

interface Count {
  dialect: DialectName;
  path: (model: string) => string;
  /** The body of a chat as the body of a count. */
  body?: (chat: JsonObject) => JsonObject;
  tokens: (answer: JsonObject) => number;
}
const totalTokens = (answer: JsonObject): number => countAt(answer, 'totalTokens');
const inputTokens = (answer: JsonObject): number => countAt(answer, 'input_tokens');

/** The ways to ask how many tokens a request has. */
const ways: Record<string, Count> = {
  'POST /v1/messages/count_tokens': {
    dialect: 'messages',
    path: () => '/v1/messages/count_tokens',
    tokens: inputTokens,
    body: ({ max_tokens: _, ...chat }) => chat,
  },
  'POST /v1/responses/input_tokens': {
    dialect: 'responses',
    path: () => '/v1/responses/input_tokens',
    tokens: inputTokens,
  },
  'POST /v1beta/models/{model}:countTokens': {
    dialect: 'Gemini',
    path: (model) => `/v1beta/models/${model}:countTokens`,
    tokens: totalTokens,
  },
  'POST /v1/models/{model}:countTokens': {
    dialect: 'Gemini',
    path: (model) => `/v1/models/${model}:countTokens`,
    tokens: totalTokens,
    body: ({ contents, ...more }) => ({ contents: contents ?? [], ...more }),
  },
  'POST /v1beta/models/{model}:countTokens with a whole request': {
    dialect: 'Gemini',
    path: (model) => `/v1beta/models/${model}:countTokens`,
    tokens: totalTokens,
    body: (chat) => ({ generateContentRequest: { model: 'models/any', ...chat } }),
  },
};

/** The counts of tokens of every dialect that has one, for every family. They are the gateway's own estimates. */
describe.each(Object.entries(ways))('%s', (_name, { dialect, path, body = (chat) => chat, tokens }) => {
  const post = async (at: string, sent: JsonObject) => {
    const { gateway, apiKey } = scene;
    const response = await fetch(gateway.baseUrl + at, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(sent),
    });
    return { status: response.status, headers: response.headers, json: objectAt(parsed(await response.text())) };
  };
  const chatOf = (model: string, prompt: string): JsonObject =>
    objectAt(parsed(JSON.stringify(dialects[dialect].body({ model, prompt, hasTool: true }))));

  it.each(familyNames)('counts a prompt with its tools, free of charge, for %s', async (family) => {
    const model = families[family];
    const short = await post(path(model), body(chatOf(model, 'open')));
    const long = await post(path(model), body(chatOf(model, 'open '.repeat(101))));
    expect([short.status, long.status]).toEqual([200, 200]);
    expect(tokens(short.json)).toBeGreaterThan(10);
    expect(tokens(long.json) - tokens(short.json)).toBeGreaterThan(80);
    expect(tokens(long.json) - tokens(short.json)).toBeLessThan(160);
    expect(long.headers.has('x-tollgate-credits')).toBe(false);
  });

  it('takes aliases, names the fields that it leaves out, and refuses what no chat could be', async () => {
    const model = 'claude-haiku-5-5';
    const odd = await post(path(model), body({ ...chatOf(model, 'open'), never_heard_of: { a: 1 } }));
    expect([odd.status, odd.headers.get('x-tollgate-ignored')]).toEqual([200, 'never_heard_of']);
    expect((await post(path('gpt-1'), body(chatOf('gpt-1', 'open')))).status).toBe(404);
    expect((await post(path('aurora-image-1'), body(chatOf('aurora-image-1', 'open')))).status).toBe(400);
    expect((await post(path(model), {})).status).toBe(400);
  });
});

it('are read by the clients of OpenAI and Google', async () => {
  const { gateway, apiKey } = scene;
  const openai = new OpenAI({ baseURL: `${gateway.baseUrl}/v1`, apiKey });
  const counted = await openai.responses.inputTokens.count({ model: families.Gemini, input: 'open '.repeat(100) });
  expect(counted.input_tokens).toBeGreaterThan(90);
  const google = new GoogleGenAI({ apiKey, httpOptions: { baseUrl: gateway.baseUrl } });
  const contents = 'open '.repeat(100);
  const { totalTokens: total } = await google.models.countTokens({ model: families.Gemini, contents });
  expect(total).toBeGreaterThan(90);
});
