import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import OpenAI, {
  APIError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
  UnprocessableEntityError,
} from 'openai';
import { zodResponseFormat } from 'openai/helpers/zod';
import { z } from 'zod';
import { eventually } from '../support/eventually.ts';
import { startGateway, type Gateway, type TestProject } from '../support/gateway.ts';
import { accountOf } from '../support/rows.ts';
import { requestsOf } from './request-log.ts';
import { weatherTool } from './weather-tool.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ workers: 0, env: { RATE_LIMIT_REST_SECONDS: '12' } });
});
afterAll(() => gateway?.stop());

const older = ['gpt-5-mini', 'claude-sonnet-4.5', 'gemini-2.5-flash'];
/** Models of the Responses API, of adaptive thinking, of thinking levels, and of `reasoning_content`. */
const newer = ['gpt-6.1-sol', 'claude-opus-5.5', 'gemini-3.8-flash', 'deepseek-v4-pro'];

let project: TestProject;
let client: OpenAI;

/** Tests of the package `openai` against a running gateway. They leave channels cooling down, so they come last. */
describe('openai', () => {
  beforeAll(async () => {
    project = await gateway.project();
    client = clientOf(project.apiKey);
  });
  afterEach(async () => expect(await gateway.verifyLedger()).toMatchObject({ ok: true }));

  describe('the openai client', () => {
    it.each(['gpt-5-mini', 'claude-sonnet-4.5', 'gemini-2.5-flash', 'deepseek-v3.2'])(
      'chats with %s and gets the tokens and the charged credits',
      async (name) => {
        const before = await accountOf(gateway.database, project.projectId);
        const { data, response, request_id } = await client.chat.completions
          .create({ ...chatOf(`hello ${name}`), model: name, max_tokens: 64, temperature: 0 })
          .withResponse();
        expect(data).toMatchObject({
          id: expect.stringMatching(/^chatcmpl-/),
          object: 'chat.completion',
          model: name,
          choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', refusal: null } }],
        });
        expect(data.choices[0]?.message.content).toBe(`Sandbox answer to: hello ${name}`);
        expect(data.usage?.prompt_tokens).toBeGreaterThan(0);
        expect(data.usage?.total_tokens).toBe((data.usage?.prompt_tokens ?? 0) + (data.usage?.completion_tokens ?? 0));
        expect(request_id).toMatch(/^req_/);
        const credits = Number(response.headers.get('x-tollgate-credits'));
        expect(credits).toBeGreaterThan(0);
        expect(await accountOf(gateway.database, project.projectId)).toEqual({
          balance: before.balance - credits,
          reserved: 0,
        });
      },
    );

    it("reports the upstream's token counts, and finish_reason length for a truncated answer", async () => {
      const counted = await client.chat.completions.create(chatOf('counted [[usage=40,12]]'));
      expect(counted.usage).toMatchObject({ prompt_tokens: 40, completion_tokens: 12, total_tokens: 52 });
      const cut = await client.chat.completions.create({
        ...chatOf('ö'.repeat(40)),
        max_completion_tokens: 16,
      });
      expect(cut.choices[0]?.finish_reason).toBe('length');
      expect(cut.choices[0]?.message.content).toMatch(/^Sandbox answer to: ö{20,30}$/);
    });

    it('calls a tool, sends its result back and reads the answer', async () => {
      const messages: OpenAI.ChatCompletionMessageParam[] = [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'weather in Oslo? [[tool=weather args={"city":"Oslo"}]]' },
      ];
      const tools: OpenAI.ChatCompletionTool[] = [
        {
          type: 'function',
          function: { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
        },
      ];
      for (const name of [...older, ...newer]) {
        const first = await client.chat.completions.create({ model: name, messages, tools });
        const [choice] = first.choices;
        expect(choice?.finish_reason).toBe('tool_calls');
        const [call] = choice?.message.tool_calls ?? [];
        if (!choice || call?.type !== 'function') throw new Error('The reply has no function call');
        expect(call.function.name).toBe('weather');
        expect(JSON.parse(call.function.arguments)).toEqual({ city: 'Oslo' });
        const answered = await client.chat.completions.create({
          model: name,
          tools,
          messages: [...messages, choice.message, { role: 'tool', tool_call_id: call.id, content: '{"degrees":4}' }],
        });
        expect(answered.choices[0]).toMatchObject({
          finish_reason: 'stop',
          message: { content: expect.stringContaining('Sandbox answer to: weather in Oslo?') },
        });
      }
    });

    it.each(newer)('asks %s for an effort and an answer by a schema, and gets its thoughts apart', async (name) => {
      const answer = await client.chat.completions.create({
        ...chatOf('deep [[thoughts=40 cached=1]]'),
        model: name,
        max_tokens: 2_048,
        reasoning_effort: 'low',
        response_format: zodResponseFormat(z.object({ n: z.int().min(0) }), 'number'),
      });
      const [choice] = answer.choices;
      expect(JSON.parse(choice?.message.content ?? '')).toEqual({ n: expect.any(Number) });
      expect(choice?.message).toHaveProperty('reasoning_content', expect.stringMatching(/^the gate is open/));
      expect(answer.usage).toMatchObject({
        prompt_tokens_details: { cached_tokens: 1 },
        completion_tokens_details: { reasoning_tokens: 40 },
      });
    });

    it('is told before any provider is called that a model takes no forced tool', async () => {
      const refusal = await refusalOf(
        client.chat.completions.create({
          ...chatOf('forced'),
          model: 'claude-opus-5.5',
          tools: [{ type: 'function', function: { name: 'look' } }],
          tool_choice: 'required',
        }),
      );
      expect(refusal).toBeInstanceOf(BadRequestError);
      expect(refusal).toMatchObject({ code: 'unsupported_parameter', param: 'tool_choice' });
      expect(await gateway.hits('forced', 'chat')).toEqual([]);
    });

    it('runs tools with runTools', async () => {
      const cities: string[] = [];
      const runner = client.chat.completions.runTools({
        model,
        messages: [{ role: 'user', content: 'weather? [[tool=weather args={"city":"Rome"}]]' }],
        tools: [weatherTool(cities, 'sunny')],
      });
      expect(await runner.finalContent()).toBe('Sandbox answer to: weather?');
      expect(cities).toEqual(['Rome']);
    });

    it('sends an image as data URI and as URL', async () => {
      const answer = await client.chat.completions.create({
        model,
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'what is this?' },
              { type: 'image_url', image_url: { url: onePixel, detail: 'low' } },
              { type: 'image_url', image_url: { url: 'https://pictures.example/fox.png' } },
            ],
          },
        ],
      });
      expect(answer.choices[0]?.message.content).toBe('Sandbox answer to: what is this?');
      const blind = await refusalOf(
        client.chat.completions.create({
          model: 'deepseek-v3.2',
          messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: onePixel } }] }],
        }),
      );
      expect(blind).toMatchObject({ status: 400, code: 'unsupported_parameter', param: 'messages' });
    });

    it('gets JSON, and an object that matches a schema', async () => {
      const json = await client.chat.completions.create({
        ...chatOf('JSON, please'),
        response_format: { type: 'json_object' },
      });
      expect(JSON.parse(json.choices[0]?.message.content ?? '')).toEqual({ answer: 'JSON, please' });
      const Weather = z.object({ city: z.string(), degrees: z.number(), words: z.array(z.enum(['wet', 'dry'])) });
      for (const name of ['gpt-5-mini', 'gemini-2.5-flash']) {
        const parsed = await client.chat.completions.parse({
          ...chatOf('the weather'),
          model: name,
          response_format: zodResponseFormat(Weather, 'weather'),
        });
        expect(parsed.choices[0]?.message.parsed).toEqual({ city: 'sandbox', degrees: 1, words: ['wet'] });
      }
    });

    it('lists the models and retrieves one', async () => {
      const ids: string[] = [];
      for await (const { id } of client.models.list()) ids.push(id);
      expect(ids).toEqual(expect.arrayContaining(['gpt-5-mini', 'veo-3.1', 'aurora-image-1']));
      expect(await client.models.retrieve('claude-sonnet-4.5')).toMatchObject({
        id: 'claude-sonnet-4.5',
        object: 'model',
        owned_by: 'anthropic',
      });
      expect(await refusalOf(client.models.retrieve('gpt-1'))).toBeInstanceOf(NotFoundError);
    });

    it('gets the same answer for the same Idempotency-Key and is charged once', async () => {
      const options = { headers: { 'idempotency-key': randomUUID() } };
      const first = await client.chat.completions.create(chatOf('once only'), options);
      const paid = await accountOf(gateway.database, project.projectId);
      const { data, response } = await client.chat.completions.create(chatOf('once only'), options).withResponse();
      expect(data).toEqual(first);
      expect(response.headers.get('idempotent-replayed')).toBe('true');
      expect(await accountOf(gateway.database, project.projectId)).toEqual(paid);
      expect(await gateway.hits('once only', 'chat')).toHaveLength(1);
      const other = await refusalOf(client.chat.completions.create(chatOf('something else'), options));
      expect(other).toBeInstanceOf(UnprocessableEntityError);
      expect(other).toMatchObject({ code: 'idempotency_key_reused' });
    });
  });

  describe('an error in the openai client', () => {
    it('has the class of its status, with code, type, param and request id', async () => {
      const unknown = await refusalOf(clientOf('sk-nobody').chat.completions.create(chatOf('x')));
      expect(unknown).toBeInstanceOf(AuthenticationError);
      expect(unknown).toMatchObject({
        status: 401,
        code: 'invalid_api_key',
        type: 'authentication_error',
        param: null,
      });
      expect(unknown.requestID).toMatch(/^req_/);

      const narrow = clientOf((await gateway.project({ models: ['deepseek-v3.2'] })).apiKey);
      const forbidden = await refusalOf(narrow.chat.completions.create(chatOf('x')));
      expect(forbidden).toBeInstanceOf(PermissionDeniedError);
      expect(forbidden).toMatchObject({ code: 'model_not_allowed' });

      const missing = await refusalOf(client.chat.completions.create({ ...chatOf('x'), model: 'gpt-1' }));
      expect(missing).toBeInstanceOf(NotFoundError);
      expect(missing).toMatchObject({ code: 'model_not_found', param: 'model' });

      const hot = await refusalOf(client.chat.completions.create({ ...chatOf('x'), temperature: 3 }));
      expect(hot).toBeInstanceOf(BadRequestError);
      expect(hot).toMatchObject({ code: 'invalid_value', param: 'temperature', type: 'invalid_request_error' });

      const policy = await refusalOf(client.chat.completions.create(chatOf('[[fail=refused]]')));
      expect(policy).toMatchObject({ status: 400, code: 'content_policy_violation' });
    });

    it('for lack of credits or budget is not retried', async () => {
      const poor = await gateway.project({ credits: 0 });
      const refused = await refusalOf(clientOf(poor.apiKey).chat.completions.create(chatOf('x')));
      expect(refused).toMatchObject({ status: 402, code: 'insufficient_credits', type: 'billing_error' });
      expect(refused.headers?.get('x-should-retry')).toBe('false');
      expect(await requestsOf(gateway, poor)).toEqual([{ path: chatPath, status: 402 }]);

      const spent = await gateway.project({ budget: 1 });
      await refusalOf(clientOf(spent.apiKey).chat.completions.create({ ...chatOf('x'), max_tokens: 8_000 }));
      expect(await requestsOf(gateway, spent)).toEqual([{ path: chatPath, status: 402 }]);
    });

    it('over the rate limit has Retry-After and both kinds of rate limit headers', async () => {
      const limited = await gateway.project({ rpm: 1 });
      const { response } = await clientOf(limited.apiKey).chat.completions.create(chatOf('x')).withResponse();
      expect(response.headers.get('x-ratelimit-limit-requests')).toBe('1');
      expect(response.headers.get('x-ratelimit-remaining-requests')).toBe('0');
      const over = await refusalOf(clientOf(limited.apiKey).chat.completions.create(chatOf('x'), { maxRetries: 0 }));
      expect(over).toBeInstanceOf(RateLimitError);
      expect(over).toMatchObject({ code: 'rate_limit_exceeded', type: 'rate_limit_error' });
      const wait = Number(over.headers?.get('retry-after'));
      expect(wait).toBeGreaterThanOrEqual(1);
      expect(wait).toBeLessThanOrEqual(61);
      expect(over.headers?.get('x-should-retry')).toBeNull();
      expect(over.headers?.get('ratelimit')).toMatch(/^"key";r=0;t=\d+$/);
      expect(over.headers?.get('x-ratelimit-reset-requests')).toMatch(/^\d+s$/);
    });

    it('of failing upstreams is retried by the SDK, and the chat is charged once', async () => {
      const unlucky = await gateway.project();
      const answer = await clientOf(unlucky.apiKey).chat.completions.create(
        chatOf('unlucky [[fail=transient times=3]]'),
      );
      expect(answer.choices[0]?.message.content).toBe('Sandbox answer to: unlucky');
      expect(await requestsOf(gateway, unlucky)).toEqual([
        { path: chatPath, status: 502 },
        { path: chatPath, status: 200 },
      ]);
      expect((await accountOf(gateway.database, unlucky.projectId)).balance).toBe(999);
    });

    it('of upstreams that keep failing is thrown after two retries and costs nothing', async () => {
      const hopeless = await gateway.project();
      const refused = await refusalOf(
        clientOf(hopeless.apiKey).chat.completions.create({
          ...chatOf('[[fail=late_fail]]'),
          model: 'claude-sonnet-4.5',
        }),
      );
      expect(refused).toBeInstanceOf(InternalServerError);
      expect(refused).toMatchObject({ status: 502, code: 'upstream_error' });
      expect(await requestsOf(gateway, hopeless)).toEqual(Array(3).fill({ path: chatPath, status: 502 }));
      expect(await accountOf(gateway.database, hopeless.projectId)).toEqual({ balance: 1_000, reserved: 0 });
    });

    // This test comes last because the channels cool down for seconds.
    it('for lack of an available channel has Retry-After, and the retry of the SDK succeeds', async () => {
      const early = await gateway.project();
      const crowded = await refusalOf(
        clientOf(early.apiKey).chat.completions.create(chatOf('crowd [[fail=rate_limit]]'), { maxRetries: 0 }),
      );
      expect(crowded).toMatchObject({ status: 503, code: 'no_channel_available' });
      // The API server answers the client before it writes the health of the channels.
      await eventually(async () => {
        const [row] = await gateway.database.query<{ unavailable: number }>(
          'test-unavailable',
          `select count(*)::float8 as unavailable from channel_health where model_id = '*' and unavailable_until > clock_timestamp()`,
        );
        return row?.unavailable === 3;
      });
      const answer = await clientOf(early.apiKey).chat.completions.create(chatOf('patience'));
      expect(answer.choices[0]?.message.content).toBe('Sandbox answer to: patience');
      const requests = await requestsOf(gateway, early);
      expect(requests.map(({ status }) => status)).toEqual([503, 503, 200]);
    });
  });
});
/** The client as documented, with its default retries, except for its base URL. */
const clientOf = (apiKey: string): OpenAI =>
  new OpenAI({ apiKey, baseURL: `${gateway.baseUrl}/api/v1`, timeout: 120_000 });

const model = 'gpt-5-mini';
const chatOf = (text: string) => ({ model, messages: [{ role: 'user' as const, content: text }] });
const chatPath = '/api/v1/chat/completions';
const onePixel =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** The error of a refused call. */
async function refusalOf(call: Promise<unknown>): Promise<APIError> {
  const error: unknown = await call.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof APIError)) throw new Error('Expected the SDK to throw an API error', { cause: error });
  return error;
}
