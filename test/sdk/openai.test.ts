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

let gateway: Gateway;
let project: TestProject;
let client: OpenAI;
beforeAll(async () => {
  gateway = await startGateway({ workers: 0, env: { RATE_LIMIT_REST_SECONDS: '8' } });
  project = await gateway.project();
  client = clientOf(project.apiKey);
});
afterAll(() => gateway.stop());
afterEach(async () => expect(await gateway.verifyLedger()).toMatchObject({ ok: true }));

/** As its documentation has it, but for the address: its own retries and all. */
const clientOf = (apiKey: string): OpenAI =>
  new OpenAI({ apiKey, baseURL: `${gateway.baseUrl}/api/v1`, timeout: 20_000 });

const model = 'gpt-5-mini';
const saying = (text: string) => ({ model, messages: [{ role: 'user' as const, content: text }] });
const chatPath = '/api/v1/chat/completions';
const onePixel =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** What a call was refused with. */
async function refusalOf(call: Promise<unknown>): Promise<APIError> {
  const error: unknown = await call.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof APIError)) throw new Error('the client was not refused', { cause: error });
  return error;
}

describe('the openai client', () => {
  it.each(['gpt-5-mini', 'claude-sonnet-4.5', 'gemini-2.5-flash', 'deepseek-v3.2'])(
    'chats with %s and is told tokens and credits, which are what is charged',
    async (name) => {
      const before = await accountOf(gateway.database, project.projectId);
      const { data, response, request_id } = await client.chat.completions
        .create({ ...saying(`hello ${name}`), model: name, max_tokens: 64, temperature: 0 })
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

  it("reports the upstream's own counts, and the cut where an answer is cut", async () => {
    const counted = await client.chat.completions.create(saying('counted [[usage=40,12]]'));
    expect(counted.usage).toMatchObject({ prompt_tokens: 40, completion_tokens: 12, total_tokens: 52 });
    const cut = await client.chat.completions.create({
      ...saying('ö'.repeat(40)),
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
    for (const name of ['gpt-5-mini', 'claude-sonnet-4.5', 'gemini-2.5-flash']) {
      const asked = await client.chat.completions.create({ model: name, messages, tools });
      const [choice] = asked.choices;
      expect(choice?.finish_reason).toBe('tool_calls');
      const [call] = choice?.message.tool_calls ?? [];
      if (!choice || call?.type !== 'function') throw new Error('no function was called');
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

  it('runs tools in its own loop', async () => {
    const cities: string[] = [];
    const runner = client.chat.completions.runTools({
      model,
      messages: [{ role: 'user', content: 'weather? [[tool=weather args={"city":"Rome"}]]' }],
      tools: [
        {
          type: 'function',
          function: {
            name: 'weather',
            description: 'The weather of a city',
            parameters: { type: 'object', properties: { city: { type: 'string' } } },
            parse: (text: string) => z.object({ city: z.string() }).parse(JSON.parse(text)),
            function: ({ city }: { city: string }) => {
              cities.push(city);
              return 'sunny';
            },
          },
        },
      ],
    });
    expect(await runner.finalContent()).toBe('Sandbox answer to: weather?');
    expect(cities).toEqual(['Rome']);
  });

  it('shows a picture by its bytes and by its address', async () => {
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

  it('gets JSON, and an object of its schema', async () => {
    const json = await client.chat.completions.create({
      ...saying('JSON, please'),
      response_format: { type: 'json_object' },
    });
    expect(JSON.parse(json.choices[0]?.message.content ?? '')).toEqual({ answer: 'JSON, please' });
    const Weather = z.object({ city: z.string(), degrees: z.number(), words: z.array(z.enum(['wet', 'dry'])) });
    for (const name of ['gpt-5-mini', 'gemini-2.5-flash']) {
      const parsed = await client.chat.completions.parse({
        ...saying('the weather'),
        model: name,
        response_format: zodResponseFormat(Weather, 'weather'),
      });
      expect(parsed.choices[0]?.message.parsed).toEqual({ city: 'sandbox', degrees: 1, words: ['wet'] });
    }
  });

  it('lists the models and shows one', async () => {
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

  it('is given the same answer again for the same Idempotency-Key, and pays once', async () => {
    const options = { headers: { 'idempotency-key': randomUUID() } };
    const first = await client.chat.completions.create(saying('once only'), options);
    const paid = await accountOf(gateway.database, project.projectId);
    const { data, response } = await client.chat.completions.create(saying('once only'), options).withResponse();
    expect(data).toEqual(first);
    expect(response.headers.get('idempotent-replayed')).toBe('true');
    expect(await accountOf(gateway.database, project.projectId)).toEqual(paid);
    expect(await gateway.hits('once only', 'chat')).toHaveLength(1);
    const other = await refusalOf(client.chat.completions.create(saying('something else'), options));
    expect(other).toBeInstanceOf(UnprocessableEntityError);
    expect(other).toMatchObject({ code: 'idempotency_key_reused' });
  });
});

describe('a refusal, as the openai client tells it,', () => {
  it('is of the class of its status, with code, type, param and request id', async () => {
    const unknown = await refusalOf(clientOf('sk-nobody').chat.completions.create(saying('x')));
    expect(unknown).toBeInstanceOf(AuthenticationError);
    expect(unknown).toMatchObject({ status: 401, code: 'invalid_api_key', type: 'authentication_error', param: null });
    expect(unknown.requestID).toMatch(/^req_/);

    const narrow = clientOf((await gateway.project({ models: ['deepseek-v3.2'] })).apiKey);
    const forbidden = await refusalOf(narrow.chat.completions.create(saying('x')));
    expect(forbidden).toBeInstanceOf(PermissionDeniedError);
    expect(forbidden).toMatchObject({ code: 'model_not_allowed' });

    const missing = await refusalOf(client.chat.completions.create({ ...saying('x'), model: 'gpt-1' }));
    expect(missing).toBeInstanceOf(NotFoundError);
    expect(missing).toMatchObject({ code: 'model_not_found', param: 'model' });

    const hot = await refusalOf(client.chat.completions.create({ ...saying('x'), temperature: 3 }));
    expect(hot).toBeInstanceOf(BadRequestError);
    expect(hot).toMatchObject({ code: 'invalid_value', param: 'temperature', type: 'invalid_request_error' });

    const policy = await refusalOf(client.chat.completions.create(saying('[[fail=refused]]')));
    expect(policy).toMatchObject({ status: 400, code: 'content_policy_violation' });
  });

  it('of a stream names the field, however the stream is asked for', async () => {
    const created = await refusalOf(client.chat.completions.create({ ...saying('x'), stream: true }));
    expect(created).toBeInstanceOf(BadRequestError);
    expect(created).toMatchObject({ code: 'unsupported_parameter', param: 'stream' });
    const helped = await refusalOf(client.chat.completions.stream(saying('x')).finalContent());
    expect(helped).toMatchObject({ status: 400, param: 'stream' });
  });

  it('for want of credits or budget is final: the client asks once', async () => {
    const poor = await gateway.project({ credits: 0 });
    const refused = await refusalOf(clientOf(poor.apiKey).chat.completions.create(saying('x')));
    expect(refused).toMatchObject({ status: 402, code: 'insufficient_credits', type: 'billing_error' });
    expect(refused.headers?.get('x-should-retry')).toBe('false');
    expect(await requestsOf(gateway, poor)).toEqual([{ path: chatPath, status: 402 }]);

    const spent = await gateway.project({ budget: 1 });
    await refusalOf(clientOf(spent.apiKey).chat.completions.create({ ...saying('x'), max_tokens: 8_000 }));
    expect(await requestsOf(gateway, spent)).toEqual([{ path: chatPath, status: 402 }]);
  });

  it('over the rate says when to come again, in both dialects', async () => {
    const limited = await gateway.project({ rpm: 1 });
    const { response } = await clientOf(limited.apiKey).chat.completions.create(saying('x')).withResponse();
    expect(response.headers.get('x-ratelimit-limit-requests')).toBe('1');
    expect(response.headers.get('x-ratelimit-remaining-requests')).toBe('0');
    const over = await refusalOf(clientOf(limited.apiKey).chat.completions.create(saying('x'), { maxRetries: 0 }));
    expect(over).toBeInstanceOf(RateLimitError);
    expect(over).toMatchObject({ code: 'rate_limit_exceeded', type: 'rate_limit_error' });
    const wait = Number(over.headers?.get('retry-after'));
    expect(wait).toBeGreaterThanOrEqual(1);
    expect(wait).toBeLessThanOrEqual(61);
    expect(over.headers?.get('x-should-retry')).toBeNull();
    expect(over.headers?.get('ratelimit')).toMatch(/^"key";r=0;t=\d+$/);
    expect(over.headers?.get('x-ratelimit-reset-requests')).toMatch(/^\d+s$/);
  });

  it('by failing upstreams is retried by the client, which then gets its answer and pays once', async () => {
    const unlucky = await gateway.project();
    const answer = await clientOf(unlucky.apiKey).chat.completions.create(saying('unlucky [[fail=transient times=3]]'));
    expect(answer.choices[0]?.message.content).toBe('Sandbox answer to: unlucky');
    expect(await requestsOf(gateway, unlucky)).toEqual([
      { path: chatPath, status: 502 },
      { path: chatPath, status: 200 },
    ]);
    expect((await accountOf(gateway.database, unlucky.projectId)).balance).toBe(999);
  });

  it('is told after the retries that the documentation promises, and costs nothing', async () => {
    const hopeless = await gateway.project();
    const refused = await refusalOf(
      clientOf(hopeless.apiKey).chat.completions.create({
        ...saying('[[fail=late_fail]]'),
        model: 'claude-sonnet-4.5',
      }),
    );
    expect(refused).toBeInstanceOf(InternalServerError);
    expect(refused).toMatchObject({ status: 502, code: 'upstream_error' });
    expect(await requestsOf(gateway, hopeless)).toEqual(Array(3).fill({ path: chatPath, status: 502 }));
    expect(await accountOf(gateway.database, hopeless.projectId)).toEqual({ balance: 1_000, reserved: 0 });
  });

  // The last one: the channels rest for seconds.
  it('for want of a channel says when one opens, and the client comes back then', async () => {
    const early = await gateway.project();
    const crowded = await refusalOf(
      clientOf(early.apiKey).chat.completions.create(saying('crowd [[fail=rate_limit]]'), { maxRetries: 0 }),
    );
    expect(crowded).toMatchObject({ status: 503, code: 'no_channel_available' });
    // The client's answer does not wait for what is noted of a channel.
    await eventually(async () => {
      const [row] = await gateway.database.query<{ resting: number }>({
        name: 'test-resting',
        text: `select count(*)::float8 as resting from channel_health where model_id = '*' and closed_until > clock_timestamp()`,
      });
      return row?.resting === 3;
    });
    const answer = await clientOf(early.apiKey).chat.completions.create(saying('patience'));
    expect(answer.choices[0]?.message.content).toBe('Sandbox answer to: patience');
    const asked = await requestsOf(gateway, early);
    expect(asked.map(({ status }) => status)).toEqual([503, 503, 200]);
  });
});
