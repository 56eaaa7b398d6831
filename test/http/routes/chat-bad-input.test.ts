import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { chatBody, chatRoute, requestIdOf, verdictOf } from '../../services/chat/chats.ts';
import { type Gateway, startGateway, type TestProject } from '../../support/gateway.ts';
import { type RawRequest, sendRaw } from '../../support/raw-request.ts';
import { accountOf, countRows } from '../../support/rows.ts';
import { Failure, long, messageCases, modelCases, tool, toolCases, tuningCases, user } from './chat-bad-input-cases.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ workers: 0, env: { EGRESS_ALLOW_CIDRS: '' } });
});
afterAll(() => gateway?.stop());

let project: TestProject;
let before: Awaited<ReturnType<typeof countRows>>;

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
