import Anthropic, { APIError, AuthenticationError, BadRequestError, NotFoundError } from '@anthropic-ai/sdk';
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod';
import { zodOutputFormat } from '@anthropic-ai/sdk/helpers/zod';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { weather } from './dialect-client.ts';
import { families, familyNames } from './matrix.ts';
import { weatherPrompts, startSdkScene, type SdkScene } from './sdk-scene.ts';

let scene: SdkScene & { stop(): Promise<void> };
beforeAll(async () => {
  scene = await startSdkScene();
});
afterAll(() => scene?.stop());

let client: Anthropic;

const { parameters, ...named } = weather;
const tools: Anthropic.Tool[] = [{ ...named, input_schema: { ...parameters, type: 'object' } }];
const asking = (model: string, content: string) => ({
  model,
  max_tokens: 2_000,
  messages: [{ role: 'user' as const, content }],
});

/** Tests of the package `@anthropic-ai/sdk`, of which only the base URL and the key are set. */
describe('@anthropic-ai/sdk', () => {
  beforeAll(() => {
    const { gateway, apiKey } = scene;
    client = new Anthropic({ baseURL: gateway.baseUrl, apiKey, maxRetries: 0 });
  });

  it.each(familyNames)('runs an agent loop of several turns with tools, thoughts and streams: %s', async (family) => {
    const messages: Anthropic.MessageParam[] = [];
    const cities: unknown[] = [];
    let text = '';
    for (const prompt of weatherPrompts) {
      messages.push({ role: 'user', content: `${family} ${prompt}` });
      for (let turn = 0; turn < 3; turn += 1) {
        const stream = client.messages.stream({
          ...asking(families[family], ''),
          messages,
          tools,
          thinking: { type: 'adaptive' },
        });
        const { content, stop_reason: reason } = await stream.finalMessage();
        messages.push({ role: 'assistant', content });
        text = content.map((block) => (block.type === 'text' ? block.text : '')).join('');
        if (reason !== 'tool_use') break;
        const calls = content.filter((block) => block.type === 'tool_use');
        cities.push(...calls.map(({ input }) => z.object({ city: z.string() }).parse(input).city));
        messages.push({
          role: 'user',
          content: calls.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: 'rain' })),
        });
      }
      expect(text).toMatch(/^Sandbox answer to: /);
    }
    expect(cities).toEqual(['Oslo', 'Rome']);
  });

  it('runs tools by itself with toolRunner', async () => {
    const cities: string[] = [];
    const answer = await client.beta.messages.toolRunner({
      ...asking(families.Anthropic, 'runner [[tool=weather args={"city":"Bern"}]]'),
      tools: [
        betaZodTool({
          name: 'weather',
          description: 'The weather of a city',
          inputSchema: z.object({ city: z.string() }),
          run: ({ city }) => {
            cities.push(city);
            return 'rain';
          },
        }),
      ],
    });
    expect(cities).toEqual(['Bern']);
    expect(answer.stop_reason).toBe('end_turn');
  });

  it('reads an answer by a schema, a picture, cached input and what it cost', async () => {
    const { data, response, request_id } = await client.messages
      .create(
        {
          model: families.Anthropic,
          max_tokens: 100_000_000,
          stream: false,
          system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
          messages: [
            {
              role: 'user',
              content: [
                { type: 'image', source: { type: 'base64', media_type: 'image/png', data: onePixel } },
                { type: 'text', text: 'look [[usage=40,12 cached=8]]' },
              ],
            },
          ],
        },
        { timeout: 60_000 },
      )
      .withResponse();
    expect(data).toMatchObject({
      id: expect.stringMatching(/^msg_/),
      usage: { input_tokens: 32, cache_read_input_tokens: 8, output_tokens: 12 },
    });
    expect(request_id).toMatch(/^req_/);
    expect(response.headers.get('x-tollgate-clamped')).toMatch(/^max_tokens=\d+$/);
    expect(Number(response.headers.get('x-tollgate-credits'))).toBeGreaterThan(0);
    const parsed = await client.messages.parse({
      ...asking(families.Gemini, 'the weather'),
      output_config: { format: zodOutputFormat(z.object({ city: z.string() })) },
    });
    expect(parsed.parsed_output).toEqual({ city: 'sandbox' });
  });

  it('counts tokens without a charge', async () => {
    const { data, response } = await client.messages
      .countTokens({ model: families.Gemini, messages: [{ role: 'user', content: 'open '.repeat(100) }], tools })
      .withResponse();
    expect(data.input_tokens).toBeGreaterThan(90);
    expect(response.headers.has('x-tollgate-credits')).toBe(false);
  });

  it('throws its own errors, with our code, the field and the id of the request', async () => {
    const { gateway } = scene;
    const other = new Anthropic({ baseURL: gateway.baseUrl, apiKey: 'sk-nobody', maxRetries: 0 });
    const hello = asking(families.Anthropic, 'hello');
    const cases = [
      [() => other.messages.create(hello), AuthenticationError, 'authentication_error', 'invalid_api_key'],
      [() => client.messages.create({ ...hello, model: 'gpt-1' }), NotFoundError, 'not_found_error', 'model_not_found'],
      [
        () => client.messages.create({ ...hello, inference_geo: 'eu' }),
        BadRequestError,
        'invalid_request_error',
        'unsupported_parameter',
      ],
      [
        () => client.messages.create(asking(families.Anthropic, '[[fail=refused]]')),
        BadRequestError,
        'invalid_request_error',
        'content_policy_violation',
      ],
    ] as const;
    for (const [call, kind, type, errorCode] of cases) {
      const error = await errorOf(call());
      expect(error).toBeInstanceOf(kind);
      expect(error).toMatchObject({ type, errorCode, requestID: expect.stringMatching(/^req_/) });
    }
  });

  it('names the request of every answer', async () => {
    for (const call of [client.models.list(), client.models.retrieve(families.Anthropic)]) {
      expect((await call.withResponse()).request_id).toMatch(/^req_/);
    }
    for (const call of [() => client.models.retrieve('gpt-1'), () => client.messages.batches.list()]) {
      expect(await errorOf(call())).toMatchObject({ status: 404, requestID: expect.stringMatching(/^req_/) });
    }
  });

  it('throws after what came before if a stream breaks off', async () => {
    const stream = client.messages.stream(asking(families.Anthropic, 'broken [[tokens=50 rate=200 break=10]]'));
    let text = '';
    stream.on('text', (piece) => (text += piece));
    const error = await errorOf(stream.finalMessage());
    expect(error).toMatchObject({ type: 'api_error', errorCode: 'upstream_error' });
    expect(text.split(' ')).toHaveLength(10);
  });

  it('takes the key as a Bearer token too', async () => {
    const { gateway, apiKey } = scene;
    const bearer = new Anthropic({ baseURL: gateway.baseUrl, authToken: apiKey, apiKey: null, maxRetries: 0 });
    const { content } = await bearer.messages.create(asking(families.Anthropic, 'bearer'));
    expect(content).toMatchObject([{ type: 'text', text: 'Sandbox answer to: bearer' }]);
  });
});
const onePixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

async function errorOf(call: PromiseLike<unknown>): Promise<APIError> {
  const error: unknown = await call.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof APIError)) throw new Error('Expected the SDK to throw an API error', { cause: error });
  return error;
}
