import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { chatBody, chatRoute, requestIdOf, verdictOf } from '../../services/chat/chats.ts';
import { startGateway, type Gateway, type TestProject } from '../../support/gateway.ts';
import { sendRaw, type RawRequest } from '../../support/raw-request.ts';
import { accountOf, countRows } from '../../support/rows.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ workers: 0, env: { EGRESS_ALLOW_CIDRS: '' } });
});
afterAll(() => gateway?.stop());

let project: TestProject;
let before: Awaited<ReturnType<typeof countRows>>;

/** A chat that must be refused with this field and code. The default is `invalid_value` or `missing_parameter`. */
interface FieldCase {
  what: string;
  /** Overrides and adds fields of a valid request. `undefined` removes a field. */
  fields: Record<string, unknown>;
  param: string | null;
  code?: string;
  status?: number;
}

const long = (characters: number) => 'x'.repeat(characters);
const user = (content: unknown) => ({ messages: [{ role: 'user', content }] });
const tool = { type: 'function', function: { name: 'inspect', parameters: { type: 'object' } } };
const call = { id: 'call_1', type: 'function', function: { name: 'inspect', arguments: '{}' } };
const image = (url: unknown) => user([{ type: 'image_url', image_url: { url } }]);
const unsupported = 'unsupported_parameter';

const modelCases: FieldCase[] = [
  { what: 'no model', fields: { model: undefined }, param: 'model', code: 'missing_parameter' },
  { what: 'a null model', fields: { model: null }, param: 'model' },
  { what: 'a number as model', fields: { model: 5 }, param: 'model' },
  { what: 'an object as model', fields: { model: { id: 'gpt-5-mini' } }, param: 'model' },
  { what: 'an empty model', fields: { model: '' }, param: 'model' },
  { what: 'a model of 300 characters', fields: { model: long(300) }, param: 'model' },
  { what: 'an unknown model', fields: { model: 'gpt-99' }, param: 'model', code: 'model_not_found', status: 404 },
  {
    what: 'a property name of Object.prototype as model',
    fields: { model: 'toString' },
    param: 'model',
    code: 'model_not_found',
    status: 404,
  },
  {
    what: 'an inactive model',
    fields: { model: 'stable-diffusion-3.5' },
    param: 'model',
    code: 'model_not_found',
    status: 404,
  },
  { what: 'an image model', fields: { model: 'aurora-image-1' }, param: 'model', code: 'model_type_mismatch' },
  { what: 'a video model', fields: { model: 'veo-3.1' }, param: 'model', code: 'model_type_mismatch' },
];

const messageCases: FieldCase[] = [
  { what: 'no messages', fields: { messages: undefined }, param: 'messages', code: 'missing_parameter' },
  { what: 'null messages', fields: { messages: null }, param: 'messages' },
  { what: 'an object as messages', fields: { messages: {} }, param: 'messages' },
  { what: 'a string as messages', fields: { messages: 'hello' }, param: 'messages' },
  { what: 'empty messages', fields: { messages: [] }, param: 'messages' },
  {
    what: '1,001 messages',
    fields: { messages: Array.from({ length: 1_001 }, () => ({ role: 'user', content: 'a' })) },
    param: 'messages',
  },
  { what: 'a string as message', fields: { messages: ['hello'] }, param: 'messages.0' },
  { what: 'a null message', fields: { messages: [null] }, param: 'messages.0' },
  { what: 'no role', fields: { messages: [{ content: 'hello' }] }, param: 'messages.0.role' },
  { what: 'an unknown role', fields: { messages: [{ role: 'boss', content: 'hello' }] }, param: 'messages.0.role' },
  {
    what: 'no content',
    fields: { messages: [{ role: 'user' }] },
    param: 'messages.0.content',
    code: 'missing_parameter',
  },
  { what: 'null content', fields: user(null), param: 'messages.0.content' },
  { what: 'a number as content', fields: user(7), param: 'messages.0.content' },
  { what: 'an object as content', fields: user({ text: 'hello' }), param: 'messages.0.content' },
  { what: 'an empty list of content parts', fields: user([]), param: 'messages.0.content' },
  {
    what: 'empty content in all messages',
    fields: {
      messages: [
        { role: 'system', content: '' },
        { role: 'user', content: '' },
      ],
    },
    param: 'messages',
  },
  { what: 'only empty text parts', fields: user([{ type: 'text', text: '' }]), param: 'messages' },
  { what: 'an unknown part type', fields: user([{ type: 'video', url: 'x' }]), param: 'messages.0.content.0.type' },
  { what: 'a part without a type', fields: user([{ text: 'hello' }]), param: 'messages.0.content.0.type' },
  { what: 'a string as part', fields: user(['hello']), param: 'messages.0.content.0' },
  { what: 'a number as text', fields: user([{ type: 'text', text: 7 }]), param: 'messages.0.content.0.text' },
  ...[
    'http://example.com/a.png',
    'file:///etc/passwd',
    'https://10.0.0.1/a.png',
    'https://169.254.169.254/latest/meta-data',
    'https://[fd00::1]/a.png',
    'https://0xa000001/a.png',
    'https://localhost/a.png',
    'https://files.internal/a.png',
    'https://user:password@example.com/a.png',
    'https://example.com:8443/a.png',
  ].map((url) => ({
    what: `an image at ${url}`,
    fields: user([
      { type: 'text', text: 'what?' },
      { type: 'image_url', image_url: { url } },
    ]),
    param: 'messages.0.content.1.image_url.url',
    code: 'invalid_url',
  })),
  ...['a.png', '', 'data:text/html;base64,aGVsbG8=', 'data:image/png,x', 7].map((url) => ({
    what: `an image at ${JSON.stringify(url)}`,
    fields: image(url),
    param: 'messages.0.content.0.image_url.url',
  })),
  {
    what: 'an image in a system message',
    fields: { messages: [{ role: 'system', content: image('https://example.com/a.png').messages[0]?.content }] },
    param: 'messages.0.content.0.type',
  },
  {
    what: 'an image for a model that accepts none',
    fields: { model: 'deepseek-v3.2', ...image('https://example.com/a.png') },
    param: 'messages',
    code: unsupported,
  },
  {
    what: 'an assistant message without content',
    fields: { messages: [{ role: 'assistant' }] },
    param: 'messages.0.content',
  },
  {
    what: 'a tool message without a matching tool call',
    fields: {
      messages: [
        { role: 'user', content: 'a' },
        { role: 'tool', tool_call_id: 'call_9', content: 'b' },
      ],
    },
    param: 'messages.1.tool_call_id',
  },
  {
    what: 'a tool message without tool_call_id',
    fields: { messages: [{ role: 'tool', content: 'b' }] },
    param: 'messages.0.tool_call_id',
  },
  {
    what: 'a tool call whose arguments are not a string',
    fields: {
      messages: [{ role: 'assistant', tool_calls: [{ ...call, function: { name: 'inspect', arguments: {} } }] }],
    },
    param: 'messages.0.tool_calls.0.function.arguments',
  },
  {
    what: 'more text than the context of the model holds',
    fields: user('word '.repeat(600_000)),
    param: 'messages',
    code: 'context_length_exceeded',
  },
];

const tuningCases: FieldCase[] = [
  ...[15, 8_193, 0, -1, 100.5, '100', [], true, 1e300].map((max_tokens) => ({
    what: `max_tokens ${JSON.stringify(max_tokens)}`,
    fields: { max_tokens },
    param: 'max_tokens',
  })),
  { what: 'max_completion_tokens 9000', fields: { max_completion_tokens: 9_000 }, param: 'max_completion_tokens' },
  {
    what: 'max_tokens and max_completion_tokens that differ',
    fields: { max_tokens: 100, max_completion_tokens: 200 },
    param: 'max_completion_tokens',
  },
  ...[-0.1, 2.01, '0.7', [], {}, true].map((temperature) => ({
    what: `temperature ${JSON.stringify(temperature)}`,
    fields: { temperature },
    param: 'temperature',
  })),
  ...[-0.1, 1.1, '1'].map((top_p) => ({ what: `top_p ${JSON.stringify(top_p)}`, fields: { top_p }, param: 'top_p' })),
  { what: 'five stop sequences', fields: { stop: ['a', 'b', 'c', 'd', 'e'] }, param: 'stop' },
  { what: 'an empty stop sequence', fields: { stop: '' }, param: 'stop' },
  { what: 'seed 1.5', fields: { seed: 1.5 }, param: 'seed' },
  { what: 'a number as user', fields: { user: 7 }, param: 'user' },
  {
    what: 'stream_options without stream',
    fields: { stream_options: { include_usage: true } },
    param: 'stream_options',
  },
  { what: 'stream "true"', fields: { stream: 'true' }, param: 'stream' },
  { what: 'stream 1', fields: { stream: 1 }, param: 'stream' },
  { what: 'n 2', fields: { n: 2 }, param: 'n', code: unsupported },
  { what: 'n 0', fields: { n: 0 }, param: 'n' },
  { what: 'n "1"', fields: { n: '1' }, param: 'n' },
  {
    what: 'the retired functions',
    fields: { functions: [{ name: 'inspect' }] },
    param: 'functions',
    code: unsupported,
  },
  { what: 'the retired function_call', fields: { function_call: 'auto' }, param: 'function_call', code: unsupported },
  { what: 'logprobs', fields: { logprobs: true }, param: 'logprobs', code: unsupported },
  { what: 'audio as modality', fields: { modalities: ['text', 'audio'] }, param: 'modalities', code: unsupported },
  { what: 'another service_tier', fields: { service_tier: 'priority' }, param: 'service_tier', code: unsupported },
  ...Object.entries({
    store: true,
    models: ['gpt-5'],
    fallbacks: ['gpt-5'],
    provider: { order: ['dear'] },
    enable_search: true,
    web_search_options: {},
    plugins: [{ id: 'web' }],
    chat_template: '{{ messages }}',
    prediction: { type: 'content', content: 'x' },
    frequency_penalty: 1,
    logit_bias: { 50256: -100 },
    safety_identifier: 'user-1',
  }).map(([param, value]) => ({
    what: `the unlisted field ${param}`,
    fields: { [param]: value },
    param,
    code: unsupported,
  })),
  {
    what: 'reasoning_effort for a provider family without it',
    fields: { model: 'claude-sonnet-4.5', reasoning_effort: 'low' },
    param: 'reasoning_effort',
    code: unsupported,
  },
  {
    what: 'an unlisted field for a provider family that accepts none',
    fields: { model: 'claude-sonnet-4.5', colour: 'red' },
    param: 'colour',
    code: unsupported,
  },
  {
    what: 'a seed for a provider family without seeds',
    fields: { model: 'claude-sonnet-4.5', seed: 7 },
    param: 'seed',
    code: unsupported,
  },
];

const toolCases: FieldCase[] = [
  { what: 'an object as tools', fields: { tools: {} }, param: 'tools' },
  { what: 'a tool of another type', fields: { tools: [{ type: 'web_search' }] }, param: 'tools.0.type' },
  { what: 'a tool without a function', fields: { tools: [{ type: 'function' }] }, param: 'tools.0.function' },
  {
    what: 'a tool without a name',
    fields: { tools: [{ type: 'function', function: {} }] },
    param: 'tools.0.function.name',
  },
  {
    what: 'a tool with an invalid name',
    fields: { tools: [{ type: 'function', function: { name: 'a b' } }] },
    param: 'tools.0.function.name',
  },
  {
    what: 'a list as parameters of a tool',
    fields: { tools: [{ type: 'function', function: { name: 'a', parameters: [] } }] },
    param: 'tools.0.function.parameters',
  },
  { what: '129 tools', fields: { tools: Array.from({ length: 129 }, () => tool) }, param: 'tools' },
  {
    what: 'a tool_choice that tools does not contain',
    fields: { tools: [tool], tool_choice: { type: 'function', function: { name: 'fly' } } },
    param: 'tool_choice',
  },
  { what: 'a tool_choice without tools', fields: { tool_choice: 'required' }, param: 'tool_choice' },
  { what: 'an invalid tool_choice', fields: { tools: [tool], tool_choice: 'maybe' }, param: 'tool_choice' },
  { what: 'a string as response_format', fields: { response_format: 'json' }, param: 'response_format' },
  { what: 'an unknown response_format', fields: { response_format: { type: 'xml' } }, param: 'response_format.type' },
  {
    what: 'a schema without a name',
    fields: { response_format: { type: 'json_schema', json_schema: {} } },
    param: 'response_format.json_schema.name',
  },
];

const Failure = z.strictObject({
  error: z.strictObject({
    message: z.string().min(1),
    type: z.string(),
    param: z.string().nullable(),
    code: z.string(),
  }),
});

/** Posts the body unchanged. */
const raw = async ({ headers = {}, body }: Pick<RawRequest, 'headers' | 'body'>) => {
  const answer = await sendRaw({
    method: 'POST',
    url: `${gateway.baseUrl}${chatRoute}`,
    headers: { authorization: `Bearer ${project.apiKey}`, 'content-type': 'application/json', ...headers },
    ...(body !== undefined && { body }),
  });
  return { ...answer, error: Failure.parse(JSON.parse(answer.text)).error };
};

const expectNothingWritten = async () => expect(await countRows(gateway.database)).toEqual(before);

/** Tests of refused chats. The gateway must have no worker. */
describe('bad input of chats', () => {
  beforeAll(async () => {
    project = await gateway.project({ credits: 100_000 });
  });
  beforeEach(async () => {
    before = await countRows(gateway.database);
  });
  afterEach(async () => expect(await gateway.verifyLedger()).toMatchObject({ ok: true }));

  describe('POST /api/v1/chat/completions', () => {
    it.each([...modelCases, ...messageCases, ...tuningCases, ...toolCases])(
      'refuses $what and writes no row',
      async ({ fields, param, code, status = 400 }) => {
        const headers = { 'idempotency-key': randomUUID() };
        const answer = await gateway.create(project.apiKey, chatRoute, chatBody('hello', fields), { headers });
        const { error } = Failure.parse(answer.body);
        expect([answer.status, error.code, error.param]).toEqual([status, code ?? error.code, param]);
        if (code === undefined) expect(['invalid_value', 'missing_parameter']).toContain(error.code);
        expect(error.message).not.toContain(long(101));
        expect(requestIdOf(answer)).toMatch(/^req_/);
        expect(answer.headers.get('x-should-retry')).toBe('false');
        await expectNothingWritten();
      },
    );

    it.each<[string, Record<string, unknown>]>([
      ...[16, 100, 8_192].map((max_tokens): [string, Record<string, unknown>] => [
        `max_tokens ${max_tokens}`,
        { max_tokens },
      ]),
      ...[0, 0.75, 2].map((temperature): [string, Record<string, unknown>] => [
        `temperature ${temperature}`,
        { temperature },
      ]),
      ['stream false', { stream: false }],
      ['n 1', { n: 1 }],
      ['equal max_tokens and max_completion_tokens', { max_tokens: 64, max_completion_tokens: 64 }],
      [
        'null in every optional field',
        Object.fromEntries(
          'max_tokens max_completion_tokens temperature top_p stop seed user stream n logprobs tools tool_choice parallel_tool_calls response_format functions function_call audio stream_options'
            .split(' ')
            .map((field) => [field, null]),
        ),
      ],
      [
        'text and image parts',
        user([
          { type: 'text', text: 'what?' },
          { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
        ]),
      ],
      [
        'the fields that are passed through by default',
        {
          verbosity: 'low',
          reasoning_effort: 'low',
          metadata: { team: 'a' },
          prompt_cache_key: 'k',
          tools: [tool],
          parallel_tool_calls: false,
        },
      ],
      ['store false and service_tier auto', { store: false, service_tier: 'auto', frequency_penalty: 0 }],
      [
        'metadata for a provider family that is not sent it',
        { model: 'claude-sonnet-4.5', metadata: { team: 'a' }, prompt_cache_key: 'k' },
      ],
      ['1,000 messages', { messages: Array.from({ length: 1_000 }, () => ({ role: 'user', content: 'a' })) }],
      [
        'an empty message before a message with content',
        {
          messages: [
            { role: 'system', content: '' },
            { role: 'user', content: 'hello' },
          ],
        },
      ],
      ['empty tools with tool_choice none', { tools: [], tool_choice: 'none' }],
    ])('accepts %s', async (_what, fields) => {
      expect(verdictOf(await gateway.create(project.apiKey, chatRoute, chatBody('hello', fields)))).toBe('200');
    });

    it('uses the last of duplicate JSON keys', async () => {
      const twice = '{"model":"nobody","messages":[{"role":"user","content":"hello"}],"model":"gpt-5-mini"}';
      expect(verdictOf(await gateway.create(project.apiKey, chatRoute, twice))).toBe('200');
    });

    it('answers 403 for a model outside the allowlist of the key', async () => {
      const { apiKey } = await gateway.key(project.projectId, { models: ['aurora-image-1'] });
      const answer = await gateway.create(apiKey, chatRoute, chatBody('hello'));
      expect(answer).toMatchObject({
        status: 403,
        body: { error: { code: 'model_not_allowed', type: 'permission_error', param: 'model' } },
      });
      await expectNothingWritten();
    });

    it('answers 402 with x-should-retry: false without credits or over budget, and holds no credits', async () => {
      const poor = await gateway.project({ credits: 3 });
      const narrow = await gateway.project({ budget: 3 });
      before = await countRows(gateway.database);
      for (const [apiKey, code] of [
        [poor.apiKey, 'insufficient_credits'],
        [narrow.apiKey, 'key_budget_exceeded'],
      ] as const) {
        const headers = { 'idempotency-key': randomUUID() };
        const answer = await gateway.create(apiKey, chatRoute, chatBody('hello'), { headers });
        expect(answer).toMatchObject({ status: 402, body: { error: { code, type: 'billing_error', param: null } } });
        expect(answer.headers.get('x-should-retry')).toBe('false');
      }
      await expectNothingWritten();
      expect(await accountOf(gateway.database, poor.projectId)).toEqual({ balance: 3, reserved: 0 });
    });

    const good = JSON.stringify(chatBody('hello'));
    const badBodies: [string, string | Buffer][] = [
      ['an empty body', ''],
      ['half an object', '{'],
      ['NaN', '{"model":NaN}'],
      ['a trailing comma', '{"model":"gpt-5-mini",}'],
      ['a byte order mark and invalid JSON', Buffer.from([0xef, 0xbb, 0xbf, 0x21])],
      ['UTF-16', Buffer.from(good, 'utf16le')],
      ['an array', '[]'],
      ['a string', '"gpt-5-mini"'],
      ['null', 'null'],
      ['__proto__', good.replace('{', '{"__proto__":{"model":"x"},')],
      ['a NUL character', good.replace('hello', 'hel\\u0000lo')],
      ['a lone surrogate', good.replace('hello', 'hel\\ud800lo')],
      ['invalid UTF-8', Buffer.concat([Buffer.from(good.slice(0, -2)), Buffer.from([0xc3, 0x28])])],
      ['33 levels', `${'{"a":'.repeat(33)}1${'}'.repeat(33)}`],
      ['a number that overflows to infinity', good.replace('{', '{"temperature":1e999,')],
    ];
    it.each(badBodies)('answers 400 invalid_json to %s', async (_what, body) => {
      const answer = await raw({ headers: { 'idempotency-key': randomUUID() }, body });
      expect(answer).toMatchObject({ status: 400, error: { code: 'invalid_json', type: 'invalid_request_error' } });
      await expectNothingWritten();
    });

    it.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', ''])(
      'answers 415 to Content-Type %j',
      async (type) => {
        const answer = await raw({ headers: { 'content-type': type }, body: good });
        expect(answer).toMatchObject({ status: 415, error: { code: 'unsupported_media_type' } });
        await expectNothingWritten();
      },
    );

    it('answers 413 to a body over 4 MB, with or without Content-Length', async () => {
      const body = JSON.stringify(chatBody(long(4_000_001)));
      expect(await raw({ body })).toMatchObject({ status: 413, error: { code: 'payload_too_large' } });
      expect(await raw({ headers: { 'transfer-encoding': 'chunked' }, body })).toMatchObject({ status: 413 });
      await expectNothingWritten();
    });

    it.each([
      ['an empty Idempotency-Key', ''],
      ['an Idempotency-Key of 256 characters', long(256)],
      ['an Idempotency-Key with a tab', 'a\tb'],
      ['an Idempotency-Key that is not ASCII', 'schlüssel'],
    ])('refuses %s', async (_what, key) => {
      const answer = await raw({ headers: { 'idempotency-key': Buffer.from(key).toString('latin1') }, body: good });
      expect(answer).toMatchObject({ status: 400, error: { code: 'invalid_value', param: 'Idempotency-Key' } });
      await expectNothingWritten();
    });

    it('answers the same 401 to missing and invalid credentials and does not call the upstream', async () => {
      const badCredentials: Record<string, string>[] = [
        { authorization: '' },
        { authorization: `Bearer sk-${long(46)}` },
        { authorization: `Basic ${project.apiKey}` },
        { authorization: `Bearer ${project.apiKey.slice(0, -1)}${project.apiKey.endsWith('A') ? 'B' : 'A'}` },
        { authorization: `Bearer ${gateway.env['INTERNAL_JOB_TOKENS']}` },
      ];
      for (const headers of badCredentials) {
        const answer = await raw({ headers, body: JSON.stringify(chatBody('without a valid key')) });
        expect(answer.status).toBe(401);
        expect(answer.headers['www-authenticate']).toBe('Bearer');
        expect(answer.error).toEqual({
          code: 'invalid_api_key',
          type: 'authentication_error',
          param: null,
          message: 'The API key is not valid.',
        });
      }
      expect(await gateway.hits('without a valid key')).toEqual([]);
      await expectNothingWritten();
    });

    it('answers 405 with Allow to a wrong method, and 400 to two different keys', async () => {
      const get = await sendRaw({
        method: 'GET',
        url: `${gateway.baseUrl}${chatRoute}`,
        headers: { authorization: `Bearer ${project.apiKey}` },
      });
      expect([get.status, get.headers['allow']]).toEqual([405, 'POST']);
      const two = await raw({ headers: { 'x-api-key': `sk-${long(46)}` }, body: good });
      expect(two).toMatchObject({ status: 400, error: { code: 'ambiguous_credentials' } });
      await expectNothingWritten();
    });

    it('accepts the Idempotency-Key of a refused request for a valid request', async () => {
      const headers = { 'idempotency-key': randomUUID() };
      const refused = await gateway.create(project.apiKey, chatRoute, chatBody('hello', { n: 2 }), { headers });
      expect(verdictOf(refused)).toBe('400 unsupported_parameter');
      expect(verdictOf(await gateway.create(project.apiKey, chatRoute, chatBody('hello'), { headers }))).toBe('200');
    });
  });
});
