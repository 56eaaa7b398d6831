import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { stream } from '../services/chat/streams.ts';
import { quickCallbacks, type Receiver, startReceiver } from '../services/callbacks/receiver.ts';
import { type Answer, mediaRoutes } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { type Gateway, startGateway, type TestProject } from '../support/gateway.ts';
import { attemptsOf, entriesOf } from '../support/rows.ts';
import { specLines } from './spec-lines.ts';
import { spec } from './spec.ts';
import { expectRefused, type Model, ModelList, Parameters } from './endpoint-answers.ts';

let gateway: Gateway;
let receiver: Receiver;
let project: TestProject;
let models: Model[];

beforeAll(async () => {
  [gateway, receiver] = await Promise.all([startGateway({ env: quickCallbacks }), startReceiver()]);
  project = await gateway.project({ credits: 100_000 });
  const { body } = await gateway.get(project.apiKey, '/api/v1/models');
  models = ModelList.parse(body).data;
});
afterAll(async () => {
  await gateway?.stop();
  await receiver?.close();
});
afterEach(async () => expect(await gateway.verifyLedger()).toMatchObject({ ok: true }));

describe('every endpoint of the specification', () => {
  it('answers 401 to a request without a key', async () => {
    const endpoints = Object.keys(specLines).flatMap((line) => /^4 (GET|POST) (\S+)$/.exec(line)?.slice(1) ?? []);
    expect(endpoints.length).toBeGreaterThan(0);
    for (let at = 0; at < endpoints.length; at += 2) {
      const [method = '', template = ''] = endpoints.slice(at, at + 2);
      const path = template.replaceAll('{model}', 'gemini-2.5-flash').replace(/\{\w+\}/g, 'task_1');
      const response = await fetch(`${gateway.baseUrl}${path}`, {
        method,
        headers: { 'content-type': 'application/json' },
        ...(method === 'POST' && { body: '{}' }),
      });
      await response.body?.cancel();
      expect(`${method} ${template} ${response.status}`).toBe(`${method} ${template} 401`);
    }
  });
});

describe('GET /api/v1/models', () => {
  it('returns a list of models, each with exactly the members of the specification', () => {
    spec(
      '2.1 object',
      '2.1 type',
      '2.1 owned_by',
      '2.1 display_name',
      '2.1 group',
      '2.1 description',
      '2.1 pricing',
      '2.1 parameters',
      '2.1 catalogVisible',
      '2.1 list',
      '2.3 img_size',
      '2.3 aspect_ratio',
      '2.3 duration',
      '2.3 resolution',
      '2.3 variant list',
      '2.3 pricingRules',
      '2.3 fields',
      '2.3 examples',
      '4 GET /api/v1/models',
      '4.1 returns',
    );
    expect(new Set(models.map(({ type }) => type))).toEqual(new Set(['image', 'video', 'chat']));
    expect(models.filter(({ description }) => description === null).length).toBeGreaterThan(0);
    const visible = new Set(models.map(({ catalogVisible }) => catalogVisible));
    expect(visible).toEqual(new Set([true, false, undefined]));
  });

  it('lists ids that requests accept, and tags for each model', async () => {
    spec('2.1 id', '2.1 capability');
    for (const model of models) {
      const { status, body } = await gateway.get(project.apiKey, `/api/v1/models/${model.id}`);
      expect({ status, body }).toEqual({ status: 200, body: model });
      expect(model.capability.split(',').every((tag) => /^[a-z0-9-]+$/.test(tag))).toBe(true);
    }
  });

  it('lists active models only', async () => {
    spec('2.1 status', '3 active models', '3 other model states');
    expect(models.every(({ status }) => status === 'active')).toBe(true);
    const inactive = await gateway.get(project.apiKey, '/api/v1/models/stable-diffusion-3.5');
    expect(inactive).toMatchObject({ status: 404, body: { error: { code: 'model_not_found' } } });
  });

  it('prices images and videos by the request, at the lowest rule, and chats by the token', () => {
    spec(
      '2.2 unit',
      '2.2 credits_per_request',
      '2.2 credits_per_1k_input_tokens',
      '2.2 credits_per_1k_output_tokens',
      '2.2 min_credits_per_request',
      '2.2 lowest rule',
    );
    for (const { type, pricing, parameters } of models) {
      if (type === 'chat') {
        expect(pricing).toMatchObject({ unit: 'tokens', credits_per_request: 1, min_credits_per_request: 1 });
        expect(pricing.credits_per_1k_input_tokens).toBeGreaterThan(0);
        expect(pricing.credits_per_1k_output_tokens).toBeGreaterThan(0);
        continue;
      }
      expect(pricing).toMatchObject({
        unit: 'request',
        credits_per_1k_input_tokens: 0,
        credits_per_1k_output_tokens: 0,
      });
      const rules = parameters.pricingRules ?? [];
      if (rules.length === 0) continue;
      const lowest = Math.min(...rules.map(({ credits }) => credits));
      expect(pricing).toMatchObject({ credits_per_request: lowest, min_credits_per_request: lowest });
      expect(new Set(rules.map(({ match }) => match.key)).size).toBe(1);
    }
    expect(models.some(({ parameters }) => parameters.pricingRules?.[0]?.match.key === 'img_size')).toBe(true);
    expect(models.some(({ parameters }) => parameters.pricingRules?.[0]?.match.key === 'duration')).toBe(true);
  });

  it('has the two fixed descriptors and no streaming for chat models, and every parameter flag', () => {
    spec('2.3 flags', '2.3 temperature', '2.3 max_tokens');
    for (const { type, parameters } of models) {
      if (type !== 'chat') continue;
      expect(parameters).toMatchObject({ messages: true, stream: false });
      expect(parameters.fields).toEqual([
        expect.objectContaining({ key: 'temperature', type: 'number', min: 0, max: 2, step: 0.1, default: 0.7 }),
        expect.objectContaining({ key: 'max_tokens', type: 'number', min: 16, max: 8192, step: 16, default: 1024 }),
      ]);
    }
    const flags = new Set(models.flatMap(({ parameters }) => Object.keys(parameters)));
    expect(flags).toEqual(
      new Set([...Object.keys(Parameters.shape).filter((key) => key !== 'veo31_variant'), 'veo31_variant']),
    );
  });
});

describe('POST /api/v1/chat/completions', () => {
  it('returns an OpenAI chat completion and charges the price of its tokens, rounded up once', async () => {
    spec(
      '2.2 credits_per_1k_input_tokens',
      '2.2 credits_per_1k_output_tokens',
      '2.2 min_credits_per_request',
      '2.2 cost of tokens',
      '4 POST /api/v1/chat/completions',
      '4.2 model',
      '4.2 messages',
      '4.2 returns',
      '4.2 billing',
    );
    const answer = await chat({ text: `hello [[usage=1001,300]]`, max_tokens: 512, temperature: 0.75 });
    const { id: _id, created: _created, ...completion } = Completion.parse(answer.body);
    expect(completion).toMatchObject({
      object: 'chat.completion',
      model: 'gpt-5-mini',
      choices: [{ index: 0, message: { role: 'assistant' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 1001, completion_tokens: 300, total_tokens: 1301 },
    });
    // ceil((1001 × 2 + 300 × 8) / 1000)
    expect(answer.headers.get('x-tollgate-credits')).toBe('5');
    expect(answer.headers.get('x-tollgate-attempts')).toBe('1');
    const small = await chat({ text: 'hello [[usage=1,1]]' });
    expect(small.headers.get('x-tollgate-credits')).toBe('1');
  });

  it('accepts max_tokens from 16 to 8192 and temperature from 0 to 2 only', async () => {
    spec('4.2 max_tokens', '4.2 temperature', '8 max_tokens', '8 temperature');
    for (const fields of [{ max_tokens: 16 }, { max_tokens: 8192 }, { temperature: 0 }, { temperature: 2 }]) {
      expect((await chat({ text: 'hello', ...fields })).status).toBe(200);
    }
    for (const [fields, param] of [
      [{ max_tokens: 15 }, 'max_tokens'],
      [{ max_tokens: 8193 }, 'max_tokens'],
      [{ max_tokens: 16.5 }, 'max_tokens'],
      [{ temperature: -0.1 }, 'temperature'],
      [{ temperature: 2.01 }, 'temperature'],
    ] as const) {
      expectRefused(await chat({ text: 'hello', ...fields }), 400, 'invalid_value', param);
    }
  });

  it('accepts chat models only', async () => {
    spec('4.2 model');
    expectRefused(await chat({ text: 'hello', model: 'aurora-image-1' }), 400, 'model_type_mismatch', 'model');
  });

  it('answers stream: true with the finished answer as one piece, because the models are not streamed', async () => {
    spec('4.2 stream');
    const streamed = await stream(gateway, project.apiKey, { text: 'hello' });
    expect(streamed).toMatchObject({ status: 200, text: 'Sandbox answer to: hello', finish: 'stop', isDone: true });
    expect(streamed.headers.get('x-tollgate-stream')).toBe('buffered');
    expect(streamed.chunks).toHaveLength(2);
    expect((await chat({ text: 'hello', stream: false })).status).toBe(200);
  });

  it('tries the next channel after a transient error and records both attempts', async () => {
    spec('4.2 failover', '7 transient errors');
    const answer = await chat({ text: `hello ${randomUUID()} [[fail=transient times=1]]` });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('x-tollgate-attempts')).toBe('2');
    const attempts = await attemptsOf(gateway.database, answer.headers.get('x-request-id') ?? '');
    expect(attempts.map(({ outcome }) => outcome)).toEqual(['transient', 'ok']);
  });
});

describe('the legacy routes', () => {
  it('accept every legacy field and return the task on three routes', async () => {
    spec(
      '4 POST /api/v1/api/generate',
      '4 GET /api/v1/api/result?id={task_id}',
      '4 GET /api/v1/video/status?task_id={task_id}',
      '4 GET /api/v1/internal/workflow-status?uuid={task_id}',
      '4.6 prompt',
      '4.6 aspectRatio',
    );
    const created = await gateway.create(project.apiKey, '/api/v1/api/generate', {
      model: 'veo31-fast',
      type: 'video',
      prompt: 'a fox [[fail=refused]]',
      aspectRatio: '9:16',
      images: ['https://media.example.com/a.png', 'https://media.example.com/b.png'],
      imageSize: '2k',
      callback_url: receiver.at(randomUUID()),
    });
    expect(created).toMatchObject({ status: 200, body: { success: true, task_id: created.taskId } });
    await gateway.poll(project.apiKey, created.taskId);
    const id = created.taskId;
    const [result, video, workflow] = await Promise.all([
      gateway.get(project.apiKey, `/api/v1/api/result?id=${id}`),
      gateway.get(project.apiKey, `/api/v1/video/status?task_id=${id}`),
      gateway.get(project.apiKey, `/api/v1/internal/workflow-status?uuid=${id}`),
    ]);
    expect(result.body).toMatchObject({ success: true, task_id: id, status: 'failed', results: [] });
    expect(video.body).toMatchObject({ success: true, data: { task_id: id, status: 'failed', urls: [] } });
    expect(workflow.body).toMatchObject({ success: true, uuid: id, status: 'failed', images: [] });
  });
});

describe('POST /api/v1beta/models/{model}:generateContent', () => {
  const ask = (action: string, headers: Record<string, string>) =>
    fetch(`${gateway.baseUrl}/api/v1beta/models/gemini-2.5-flash:${action}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({
        contents: [{ role: 'user', parts: [{ text: 'hello' }] }],
        generationConfig: { maxOutputTokens: 64 },
      }),
    });

  it('answers contents, and its stream variant sends the complete answer in one event', async () => {
    spec(
      '4 POST /api/v1beta/models/{model}:generateContent',
      '4.7 model',
      '4.7 contents',
      '4.7 generationConfig',
      '4.7 streamGenerateContent',
      '4.7 returns',
      '5 x-goog-api-key',
    );
    const headers = { 'x-goog-api-key': project.apiKey };
    const plain = GenerateContent.parse(await (await ask('generateContent', headers)).json());
    expect(plain.candidates[0].content.parts[0].text).not.toBe('');
    const events = await (await ask('streamGenerateContent?alt=sse', headers)).text();
    expect(events.match(/^data: /gm)).toHaveLength(1);
    GenerateContent.parse(JSON.parse(events.replace(/^data: /, '')));
  });
});

describe('the internal jobs', () => {
  const path = '/api/internal/jobs';
  const token = 'job-token-0123456789-0123456789-0123456789';

  it.each(['process-pending-callbacks', 'check-stale-media-tasks', 'check-api-channels', 'scheduled-maintenance'])(
    'run for a scheduler with a job token: %s',
    async (name) => {
      spec(
        '4 POST /api/internal/jobs/process-pending-callbacks',
        '4 POST /api/internal/jobs/check-stale-media-tasks',
        '4 POST /api/internal/jobs/check-api-channels',
        '4 POST /api/internal/jobs/scheduled-maintenance',
      );
      const { status, body } = await gateway.create(token, `${path}/${name}`, '');
      expect([200, 202]).toContain(status);
      // A run of the Schedule may hold the lock of the job.
      const answer = ScheduledJobAnswer.parse(body);
      expect([name, undefined]).toContain(answer.name);
      expect(['succeeded', undefined]).toContain(answer.state);
    },
  );

  it('list the recent runs of scheduled-maintenance', async () => {
    spec('4 GET /api/internal/jobs/scheduled-maintenance', '4.8 recent runs');
    const ended = await eventually(async () => {
      const { status, body } = await gateway.get(token, `${path}/scheduled-maintenance`);
      expect(status).toBe(200);
      return z
        .object({ data: z.array(Run) })
        .parse(body)
        .data.find(({ state }) => state === 'succeeded');
    });
    expect(ended.name).toBe('scheduled-maintenance');
    expect(ended.ended_at).toBeGreaterThanOrEqual(ended.requested_at);
  });
});

describe('authentication', () => {
  it('accepts Bearer keys and x-api-key, and x-goog-api-key on the Gemini routes only', async () => {
    spec('5 Authorization', '5 x-api-key', '5 x-goog-api-key');
    const get = (headers: Record<string, string>) => fetch(`${gateway.baseUrl}/api/v1/models`, { headers });
    const statuses = await Promise.all(
      ['authorization', 'x-api-key', 'x-goog-api-key', 'x-other'].map(
        async (name) => (await get({ [name]: `${name === 'authorization' ? 'Bearer ' : ''}${project.apiKey}` })).status,
      ),
    );
    expect(statuses).toEqual([200, 200, 401, 401]);
  });

  it('issues keys with the prefix sk- and stores only their digests', async () => {
    spec('2.4 API key', '5 form of a key', '5 hashed at rest');
    expect(project.apiKey).toMatch(/^sk-[A-Za-z0-9]{46}$/);
    const [row] = await gateway.database.query<{ text: string }>(
      'test-secrets',
      `select json_agg(s)::text || json_agg(k)::text as text from api_key_secret s join api_key k on k.id = s.key_id`,
    );
    expect(row?.text).toContain(project.keyId);
    expect(row?.text).not.toContain(project.apiKey);
    expect(row?.text).not.toContain(project.apiKey.slice(10, 40));
  });

  it('limits a key to its project, its models, its requests per minute and its budget', async () => {
    spec(
      '2.4 API key',
      '5 project',
      '5 model allowlist',
      '5 RPM',
      '5 credit budget',
      '7 exhausted budget',
      '7 rate limit',
      '8 RPM',
      '8 credit budget',
    );
    const other = await gateway.project();
    const taskId = await gateway.accept(project.apiKey, mediaRoutes.image, {
      model: 'flux-1.1-pro',
      prompt: 'a fox',
    });
    expectRefused(await gateway.get(other.apiKey, `/api/v1/tasks/${taskId}`), 404, 'task_not_found', null);
    await gateway.poll(project.apiKey, taskId);

    const { apiKey } = await gateway.key(other.projectId, { models: ['aurora-image-1'], budget: 5, rpm: 4 });
    const create = (fields: Record<string, unknown>) =>
      gateway.create(apiKey, mediaRoutes.image, { model: 'aurora-image-1', prompt: 'a fox', ...fields });
    expectRefused(await create({ model: 'flux-1.1-pro' }), 403, 'model_not_allowed', 'model');
    expectRefused(await create({ img_size: '2k' }), 402, 'key_budget_exceeded', null);
    const within = await create({});
    expect(within.status).toBe(202);
    expect(within.headers.get('x-ratelimit-limit-requests')).toBe('4');
    expectRefused(await create({}), 402, 'key_budget_exceeded', null);
    const tooMany = await create({});
    expectRefused(tooMany, 429, 'rate_limit_exceeded', null);
    expect(Number(tooMany.headers.get('retry-after'))).toBeGreaterThan(0);
    await eventually(async () => (await entriesOf(gateway.database, within.taskId))['settle'] === 1);
  });
});

describe('errors', () => {
  it('have the status, code, type and field of each condition in the specification', async () => {
    spec('7 error body', '7 invalid key', '7 exhausted budget', '7 unknown model', '7 bad callback_url');
    const poor = await gateway.project({ credits: 0 });
    const create = (apiKey: string, fields: Record<string, unknown>) =>
      gateway.create(apiKey, mediaRoutes.image, { model: 'aurora-image-1', prompt: 'a fox', ...fields });
    expectRefused(await create('sk-nobody', {}), 401, 'invalid_api_key', null, 'authentication_error');
    expectRefused(await create(poor.apiKey, {}), 402, 'insufficient_credits', null, 'billing_error');
    const unknown = await create(project.apiKey, { model: 'nobody-1' });
    expectRefused(unknown, 404, 'model_not_found', 'model', 'not_found_error');
    const insecure = await create(project.apiKey, { callback_url: 'http://hooks.example.com/' });
    expectRefused(insecure, 400, 'invalid_callback_url', 'callback_url', 'invalid_request_error');
  });
});
const Completion = z.object({
  id: z.string(),
  object: z.string(),
  created: z.int(),
  model: z.string(),
  choices: z.tuple([z.object({ index: z.int(), message: z.object({ role: z.string() }), finish_reason: z.string() })]),
  usage: z.object({ prompt_tokens: z.int(), completion_tokens: z.int(), total_tokens: z.int() }),
});

const GenerateContent = z.object({
  candidates: z.tuple([
    z.object({
      content: z.object({ role: z.literal('model'), parts: z.tuple([z.object({ text: z.string() })]) }),
      finishReason: z.string(),
    }),
  ]),
  usageMetadata: z.object({ promptTokenCount: z.int(), candidatesTokenCount: z.int() }),
});

const Run = z.looseObject({
  run_id: z.string(),
  name: z.string(),
  state: z.string(),
  requested_at: z.number(),
  ended_at: z.number().nullable(),
  summary: z.record(z.string(), z.unknown()).nullable(),
});

const ScheduledJobAnswer = z.union([
  Run.extend({ ran: z.literal(true) }),
  z.strictObject({ run_id: z.string(), name: z.string(), state: z.undefined().optional() }),
  z.strictObject({
    ran: z.literal(false),
    reason: z.literal('already_running'),
    name: z.undefined().optional(),
    state: z.undefined().optional(),
  }),
]);

const chat = ({ text, ...fields }: { text: string } & Record<string, unknown>): Promise<Answer> =>
  gateway.create(project.apiKey, '/api/v1/chat/completions', {
    model: 'gpt-5-mini',
    messages: [{ role: 'user', content: text }],
    ...fields,
  });
