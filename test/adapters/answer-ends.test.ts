import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import type { ChatReply } from '../../src/domain/chat/chat.ts';
import type { Attempt } from '../../src/domain/channels/upstream.ts';
import { familyWires, type FamilyName } from '../support/family-wires.ts';
import { openFamilyAnswers, type FamilyAnswers } from './family-answers.ts';

let answers: FamilyAnswers;
beforeAll(async () => {
  answers = await openFamilyAnswers();
});
afterAll(() => answers.close());

const streamed: FamilyAnswers['streamed'] = (...args) => answers.streamed(...args);
const whole: FamilyAnswers['whole'] = (...args) => answers.whole(...args);

const event = (json: object): string => `data: ${JSON.stringify(json)}\n\n`;
const usage = { input: 10, output: 20 };

/** A family's answer with any finish word, streamed and whole. */
const words: Record<
  'openai' | 'anthropic' | 'gemini',
  { end: (word: unknown) => string; whole: (text: string, word: unknown) => object }
> = {
  openai: {
    end: (word) => event({ choices: [{ index: 0, delta: {}, finish_reason: word }] }),
    whole: (content, word) => ({ choices: [{ message: { role: 'assistant', content }, finish_reason: word }] }),
  },
  anthropic: {
    end: (word) => event({ type: 'message_delta', delta: { stop_reason: word } }) + event({ type: 'message_stop' }),
    whole: (text, word) => ({ type: 'message', content: [{ type: 'text', text }], stop_reason: word }),
  },
  gemini: {
    end: (word) => event({ candidates: [{ content: { parts: [{ text: '' }] }, finishReason: word }] }),
    whole: (text, word) => ({
      candidates: [{ content: { parts: [{ text, thoughtSignature: 'x' }] }, finishReason: word }],
    }),
  },
};

const meanings = {
  stop: {
    openai: ['stop', 'STOP', 'eos'],
    anthropic: ['end_turn', 'END_TURN', 'pause_turn'],
    gemini: ['STOP', 'stop'],
  },
  length: {
    openai: [
      'length',
      'LENGTH',
      'MAX_TOKENS',
      'max_tokens',
      'model_length',
      'model_context_window_exceeded',
      'max_output_tokens',
    ],
    anthropic: ['max_tokens', 'MAX_TOKENS', 'model_context_window_exceeded', 'length'],
    gemini: ['MAX_TOKENS', 'max_tokens', 'LENGTH', 'CONTINUATION'],
  },
  content_filter: {
    openai: ['content_filter', 'content-filter', 'CONTENT_FILTER', 'SAFETY', 'sensitive', 'RECITATION'],
    anthropic: ['refusal', 'REFUSAL', 'content_filter'],
    gemini: ['SAFETY', 'safety', 'RECITATION', 'PROHIBITED_CONTENT', 'SPII', 'BLOCKLIST', 'MODEL_ARMOR', 'ESCALATION'],
  },
  failure: {
    openai: [
      'network_error',
      'NETWORK_ERROR',
      'abort',
      'error',
      'insufficient_system_resource',
      'engine_overloaded',
      'function_call_filter: MALFORMED_FUNCTION_CALL',
      'function_call_filter: UNEXPECTED_TOOL_CALL',
      'MALFORMED_FUNCTION_CALL',
    ],
    anthropic: ['network_error', 'abort', 'MALFORMED_FUNCTION_CALL'],
    gemini: [
      'MALFORMED_FUNCTION_CALL',
      'UNEXPECTED_TOOL_CALL',
      'MALFORMED_RESPONSE',
      'TOO_MANY_TOOL_CALLS',
      'MISSING_THOUGHT_SIGNATURE',
      'PUP_LIMITED_DISABLED',
      'abort',
    ],
  },
};

const cases = (Object.keys(meanings) as (keyof typeof meanings)[]).flatMap((meaning) =>
  (Object.keys(words) as (keyof typeof words)[]).flatMap((family) =>
    meanings[meaning][family].map((word) => [family, word, meaning] as const),
  ),
);

describe('the reason of an answer', () => {
  it.each(cases)('%s: %s means %s, streamed and whole', async (family, word, meaning) => {
    const wire = familyWires[family];
    const outcomes = [
      await streamed(family, (response) => response.end(wire.open(1) + wire.text('half') + words[family].end(word))),
      await whole(family, words[family].whole('half', word)),
    ];
    for (const outcome of outcomes) {
      if (meaning === 'failure') expect(outcome).toMatchObject({ kind: 'transient' });
      else expect(outcome).toMatchObject({ kind: 'ok', value: { content: 'half', finishReason: meaning } });
    }
  });

  it.each(['MALFORMED_FUNCTION_CALL', 'UNEXPECTED_TOOL_CALL', 'OTHER', 'IMAGE_OTHER'])(
    'gemini: %s beside an empty text is a failure, streamed and whole',
    async (word) => {
      const failed = { kind: 'transient', errorClass: 'job_failed' };
      expect(await streamed('gemini', (response) => response.end(words.gemini.end(word)))).toMatchObject(failed);
      expect(await whole('gemini', words.gemini.whole('', word))).toMatchObject(failed);
    },
  );

  it.each(['', '  ', 'null', null, undefined])(
    'is none if its word is %p, so a stream that is cut after it broke off',
    async (word) => {
      for (const family of Object.keys(words) as (keyof typeof words)[]) {
        const wire = familyWires[family];
        // Without the last event of the protocol.
        const half = words[family].end(word).split('\n\n')[0] ?? '';
        const send = (response: ServerResponse) => response.end(`${wire.open(1)}${wire.text('half')}${half}\n\n`);
        expect(await streamed(family, send)).toMatchObject({ kind: 'transient' });
      }
    },
  );
});

describe.each(Object.keys(familyWires) as FamilyName[])('an answer of %s', (family) => {
  const wire = familyWires[family];

  it('ends at its logical end though its provider keeps the connection open', async () => {
    let left = Promise.resolve();
    const outcome = await streamed(family, (response) => {
      left = new Promise((resolve) => response.once('close', () => resolve()));
      const end = wire.end('stop', usage).replace('data: [DONE]\n\n', '');
      response.write(wire.open(10) + wire.text('all') + end);
      const beat = setInterval(() => response.write(': keep-alive\n\n'), 100);
      response.once('close', () => clearInterval(beat));
    });
    expect(outcome).toMatchObject({
      kind: 'ok',
      value: { content: 'all', finishReason: 'stop', usage: { inputTokens: 10, outputTokens: 20 } },
    });
    await left;
  });

  it('ends though its provider sends no counts and keeps the connection open', async () => {
    let left = Promise.resolve();
    const outcome = await streamed(family, (response) => {
      left = new Promise((resolve) => response.once('close', () => resolve()));
      response.write(wire.open(null) + wire.text('all') + wire.end('length', null).replace('data: [DONE]\n\n', ''));
    });
    expect(outcome).toMatchObject({ kind: 'ok', value: { content: 'all', finishReason: 'length', usage: null } });
    await left;
  });

  it('that stops beside a tool call has the reason tool_calls', async () => {
    const send = (response: ServerResponse) =>
      response.end(wire.open(1) + wire.call(0, '{"a":"}"}', true) + wire.end('stop', usage));
    expect(await streamed(family, send)).toMatchObject({ kind: 'ok', value: { finishReason: 'tool_calls' } });
  });

  // Gemini sends the arguments as an object.
  if (family !== 'gemini') {
    it.each(['{"path":"/data/a', '{"path":"/data/a"', '{"a":[1,2', '{"a":"\\"}'])(
      'that claims to be complete with the arguments %s broke off',
      async (piece) => {
        const send = (response: ServerResponse) =>
          response.end(wire.open(1) + wire.call(0, piece, true) + wire.end('stop', usage));
        expect(await streamed(family, send)).toMatchObject({ kind: 'transient' });
        const cut = (response: ServerResponse) =>
          response.end(wire.open(1) + wire.call(0, piece, true) + wire.end('length', usage));
        expect(await streamed(family, cut)).toMatchObject({
          kind: 'ok',
          value: { finishReason: 'length', toolCalls: [{ arguments: piece }] },
        });
      },
    );
  }
});

describe('a whole answer', () => {
  const calling = (args: string, finish_reason: string) => ({
    choices: [{ message: { tool_calls: [{ id: 'a', function: { name: 'f', arguments: args } }] }, finish_reason }],
  });

  it('that stops beside a tool call has the reason tool_calls', async () => {
    const outcome = await whole('openai', calling('{}', 'stop'));
    expect(outcome).toMatchObject({ kind: 'ok', value: { finishReason: 'tool_calls' } });
  });

  it('that claims to be complete with cut arguments is none', async () => {
    expect(await whole('openai', calling('{"a":"b', 'tool_calls'))).toMatchObject({ kind: 'transient' });
    expect(await whole('openai', calling('{"a":"b', 'length'))).toMatchObject({ kind: 'ok' });
  });
});

/** An error inside a 200, as each family writes it. Fields that a family does not have are ignored by it. */
const errorInside = (error: object) => ({ type: 'error', error: { message: 'It failed.', ...error } });

describe.each(Object.keys(familyWires) as FamilyName[])('an error inside a 200 of %s', (family) => {
  const status = { openai: 'type', responses: 'type', anthropic: 'type', gemini: 'status' }[family];
  const cases: [string, object, Partial<Attempt<never>> & { clientCode?: string }][] = [
    ['code 400', { code: 400, [status]: 'x' }, { kind: 'refused', clientCode: 'invalid_value' }],
    ['code 401', { code: 401, [status]: 'x' }, { kind: 'transient', errorClass: 'account' }],
    ['code 402', { code: 402, [status]: 'x' }, { kind: 'transient', errorClass: 'account' }],
    ['code 403', { code: 403, [status]: 'x' }, { kind: 'transient', errorClass: 'forbidden' }],
    ['code 404', { code: 404, [status]: 'x' }, { kind: 'transient', errorClass: 'unknown_model' }],
    ['code 429', { code: 429, [status]: 'x' }, { kind: 'transient', errorClass: 'rate_limit' }],
    ['code 503', { code: 503, [status]: 'x' }, { kind: 'transient', errorClass: 'provider_error' }],
    ['code 200, which is none', { code: 200, [status]: 'x' }, { kind: 'transient' }],
    ...(family === 'gemini'
      ? []
      : ([
          ['rate_limit_error', { type: 'rate_limit_error' }, { kind: 'transient', errorClass: 'rate_limit' }],
          ['authentication_error', { type: 'authentication_error' }, { kind: 'transient', errorClass: 'account' }],
          ['overloaded_error', { type: 'overloaded_error' }, { kind: 'transient', errorClass: 'provider_error' }],
          [
            'invalid_request_error',
            { type: 'invalid_request_error' },
            { kind: 'refused', clientCode: 'invalid_value' },
          ],
        ] satisfies typeof cases)),
    [
      'a prompt that is too long',
      {
        code: 400,
        [status]: 'x',
        message: {
          openai: "This model's maximum context length is 8192 tokens",
          responses: "This model's maximum context length is 8192 tokens",
          anthropic: 'prompt is too long: 9000 tokens',
          gemini: 'The input token count (9000) exceeds the maximum',
        }[family],
      },
      { kind: 'refused', clientCode: 'context_length_exceeded' },
    ],
  ];

  it.each(cases)('is what it is with its own status: %s', async (_name, error, expected) => {
    const json = errorInside(error);
    expect(await streamed(family, (response) => response.end(event(json)))).toMatchObject(expected);
    expect(await whole(family, json)).toMatchObject(expected);
  });
});

describe.each(Object.keys(familyWires) as FamilyName[])('an error inside a 200 without a message, of %s', (family) => {
  it.each<[object, object]>([
    [{ code: 'insufficient_quota' }, { kind: 'transient', errorClass: 'account' }],
    [{ code: 429 }, { kind: 'transient', errorClass: 'rate_limit' }],
    [{ type: 'invalid_request_error' }, { kind: 'refused', clientCode: 'invalid_value' }],
    [{ code: 'content_policy_violation' }, { kind: 'refused', clientCode: 'content_policy_violation' }],
    [{ name: 'The safety check crashed.' }, { kind: 'transient' }],
  ])('is what its code says: %j', async (error, expected) => {
    expect(await streamed(family, (response) => response.end(event({ error })))).toMatchObject(expected);
    expect(await whole(family, { error })).toMatchObject(expected);
  });
});

describe('an error inside a 200 by the numbers of a vendor', () => {
  const minimax = (code: number) => ({
    choices: null,
    base_resp: { status_code: code, status_msg: 'temperature: too high' },
  });
  const glm = (code: string) => ({ error: { code, message: 'temperature: too high' } });
  it.each<[string, object, object]>([
    ['MiniMax 1002', minimax(1002), { kind: 'transient', errorClass: 'rate_limit' }],
    ['MiniMax 1039', minimax(1039), { kind: 'transient', errorClass: 'rate_limit' }],
    ['MiniMax 1004', minimax(1004), { kind: 'transient', errorClass: 'account' }],
    ['MiniMax 1008', minimax(1008), { kind: 'transient', errorClass: 'account' }],
    ['MiniMax 1026', minimax(1026), { kind: 'refused', clientCode: 'content_policy_violation' }],
    ['MiniMax 1033', minimax(1033), { kind: 'transient', errorClass: 'provider_error' }],
    ['MiniMax 2013', minimax(2013), { kind: 'refused', reported: { message: 'temperature: too high' } }],
    ['MiniMax 9999', minimax(9999), { kind: 'transient' }],
    ['MiniMax with a status', { error: { type: 'x', http_code: '429', message: 'x' } }, { errorClass: 'rate_limit' }],
    ['GLM 1302', glm('1302'), { kind: 'transient', errorClass: 'rate_limit' }],
    ['GLM 1113', glm('1113'), { kind: 'transient', errorClass: 'account' }],
    ['GLM 1002', glm('1002'), { kind: 'transient', errorClass: 'account' }],
    ['GLM 1301', glm('1301'), { kind: 'refused', clientCode: 'content_policy_violation' }],
    ['GLM 1210', glm('1210'), { kind: 'refused', reported: { message: 'temperature: too high' } }],
    ['GLM 1305', glm('1305'), { kind: 'transient', errorClass: 'provider_error' }],
  ])('%s', async (_name, json, expected) => {
    expect(await whole('openai', json)).toMatchObject(expected);
    expect(await streamed('openai', (response) => response.end(event(json)))).toMatchObject(expected);
  });

  it('is none where it says that all went well', async () => {
    const well = { base_resp: { status_code: 0, status_msg: '' } };
    const body = { choices: [{ message: { role: 'assistant', content: 'well' }, finish_reason: 'stop' }], ...well };
    expect(await whole('openai', body)).toMatchObject({ kind: 'ok', value: { content: 'well' } });
    const chunk = { choices: [{ index: 0, delta: { content: 'well' }, finish_reason: 'stop' }], ...well };
    const send = (response: ServerResponse) => response.end(`${event(chunk)}data: [DONE]\n\n`);
    expect(await streamed('openai', send)).toMatchObject({ kind: 'ok', value: { content: 'well' } });
  });
});

describe('how long a provider wants to be left alone', () => {
  const info = (retryDelay: unknown) => ({
    details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay }],
  });
  it.each<[object, number | undefined]>([
    [{ retry_after: 17 }, 17],
    [{ retry_after: '17' }, 17],
    [{ retry_after_ms: 16_200 }, 17],
    [{ retryAfter: '16.2s' }, 17],
    [{ metadata: { retry_after_seconds: 17 } }, 17],
    [{ metadata: { headers: { 'Retry-After': '17' } } }, 17],
    [info('17s'), 17],
    [info('16.210s'), 17],
    [info({ seconds: 17 }), 17],
    [{ retry_after: 10_000_000 }, 86_400],
    [{ retry_after: 'soon' }, undefined],
    [{ retry_after: -5 }, undefined],
    [{ retry_after: null, details: 'none' }, undefined],
  ])('is read from the body of a 429, with its own status or inside a 200: %j', async (fields, seconds) => {
    for (const family of Object.keys(familyWires) as FamilyName[]) {
      const error = { code: 429, type: 'x', status: 'RESOURCE_EXHAUSTED', message: 'Later.', ...fields };
      const json = { type: 'error', error };
      const expected = { kind: 'transient', errorClass: 'rate_limit', retryAfterSeconds: seconds };
      const { retryAfterSeconds: _, ...without } = expected;
      const expectRetryAfter = async (outcome: Promise<Attempt<ChatReply>>) =>
        seconds === undefined
          ? expect(await outcome).toEqual(expect.not.objectContaining({ retryAfterSeconds: expect.anything() }))
          : expect(await outcome).toMatchObject(expected);
      expect(await whole(family, json)).toMatchObject(without);
      await expectRetryAfter(whole(family, json));
      await expectRetryAfter(streamed(family, (response) => response.end(event(json))));
      await expectRetryAfter(whole(family, json, 429));
    }
  });
});

describe('an error of a response', () => {
  it.each([
    ['rate_limit_exceeded', 'rate_limit'],
    ['server_error', 'job_failed'],
  ])('that failed with %s is %s', async (code, errorClass) => {
    const response = { object: 'response', status: 'failed', output: [], error: { code, message: 'It failed.' } };
    const failed = event({ type: 'response.failed', response });
    expect(await streamed('responses', (answer) => answer.end(failed))).toMatchObject({
      kind: 'transient',
      errorClass,
    });
    expect(await whole('responses', response)).toMatchObject({ kind: 'transient', errorClass });
  });

  it('is read from a flat event', async () => {
    const json = { type: 'error', code: 'rate_limit_exceeded', message: 'Later.', param: null };
    const outcome = await streamed('responses', (response) => response.end(event(json)));
    expect(outcome).toMatchObject({ kind: 'transient', errorClass: 'rate_limit' });
  });
});

describe('the counts of a total', () => {
  const counts = (prompt: number, completion: number, total: number | null, reasoning = 0, cached = 0) => ({
    openai: {
      prompt_tokens: prompt,
      completion_tokens: completion,
      total_tokens: total,
      prompt_tokens_details: { cached_tokens: cached },
      completion_tokens_details: { reasoning_tokens: reasoning },
    },
    responses: {
      input_tokens: prompt,
      output_tokens: completion,
      total_tokens: total,
      input_tokens_details: { cached_tokens: cached },
      output_tokens_details: { reasoning_tokens: reasoning },
    },
  });
  it.each<[string, ReturnType<typeof counts>, { inputTokens: number; outputTokens: number }]>([
    ['xAI counts thoughts beside the completion', counts(32, 9, 135, 94), { inputTokens: 32, outputTokens: 103 }],
    ['OpenAI counts them in it', counts(32, 103, 135, 94), { inputTokens: 32, outputTokens: 103 }],
    ['a total without details is larger than its parts', counts(32, 9, 135), { inputTokens: 32, outputTokens: 103 }],
    ['there is no total', counts(32, 9, null, 94), { inputTokens: 32, outputTokens: 103 }],
    ['the total is smaller than its parts', counts(32, 9, 20), { inputTokens: 32, outputTokens: 9 }],
    ['cached tokens are beside the prompt', counts(50, 5, 5_505, 0, 5_450), { inputTokens: 5_500, outputTokens: 5 }],
    ['they are, in a smaller number than it', counts(100, 10, 160, 0, 50), { inputTokens: 150, outputTokens: 10 }],
    ['they are, and thoughts too', counts(10, 5, 165, 100, 50), { inputTokens: 60, outputTokens: 105 }],
    [
      'thoughts are beside, and as many as cached',
      counts(100, 10, 160, 50, 50),
      { inputTokens: 100, outputTokens: 60 },
    ],
    ['they are, without a total', counts(50, 5, null, 0, 5_450), { inputTokens: 5_500, outputTokens: 5 }],
    ['a prompt of zero tokens is missing', counts(0, 9, 135), { inputTokens: 0, outputTokens: 9 }],
  ])('are told apart where %s', async (_name, { openai, responses }, expected) => {
    const message = { role: 'assistant', content: 'a' };
    const body = { choices: [{ message, finish_reason: 'stop' }], usage: openai };
    expect(await whole('openai', body)).toMatchObject({ kind: 'ok', value: { usage: expected } });
    const output = [{ type: 'message', content: [{ type: 'output_text', text: 'a' }] }];
    const response = { object: 'response', status: 'completed', output, usage: responses };
    expect(await whole('responses', response)).toMatchObject({ kind: 'ok', value: { usage: expected } });
    const end = event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage: openai });
    const send = (answer: ServerResponse) => answer.end(familyWires.openai.text('a') + end);
    expect(await streamed('openai', send)).toMatchObject({ kind: 'ok', value: { usage: expected } });
  });
});
