import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { APICallError, generateText, isStepCount, Output, RetryError, streamText, tool } from 'ai';
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { startGateway, type Gateway, type TestProject } from '../support/gateway.ts';
import { accountOf } from '../support/rows.ts';
import { requestsOf } from './request-log.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ workers: 0, env: { RATE_LIMIT_REST_SECONDS: '12' } });
});
afterAll(() => gateway?.stop());

let project: TestProject;

/** Tests of the packages `ai` and `@ai-sdk/openai-compatible` against a running gateway. */
describe('ai', () => {
  beforeAll(async () => {
    project = await gateway.project();
  });
  afterEach(async () => expect(await gateway.verifyLedger()).toMatchObject({ ok: true }));

  describe('the AI SDK', () => {
    it.each(['gpt-5-mini', 'claude-sonnet-4.5', 'gemini-2.5-flash'])(
      'generates text with %s and reports its tokens',
      async (name) => {
        const before = await accountOf(gateway.database, project.projectId);
        const { text, usage, finishReason, finalStep } = await generateText({
          model: modelOf(name),
          system: 'Be brief.',
          prompt: `hello ${name} [[usage=40,12]]`,
          maxOutputTokens: 64,
          temperature: 0,
        });
        expect(text).toBe(`Sandbox answer to: hello ${name}`);
        expect(usage).toMatchObject({ inputTokens: 40, outputTokens: 12, totalTokens: 52 });
        expect(finishReason).toBe('stop');
        expect(finalStep.response).toMatchObject({ modelId: name, id: expect.stringMatching(/^chatcmpl-/) });
        const credits = Number(finalStep.response.headers?.['x-tollgate-credits']);
        expect((await accountOf(gateway.database, project.projectId)).balance).toBe(before.balance - credits);
      },
    );

    it('runs a tool and sends its result back', async () => {
      const cities: string[] = [];
      const { text, steps } = await generateText({
        model: modelOf(),
        prompt: 'weather? [[tool=weather args={"city":"Oslo"}]]',
        stopWhen: isStepCount(3),
        tools: {
          weather: tool({
            description: 'The weather of a city',
            inputSchema: z.object({ city: z.string() }),
            execute: ({ city }) => {
              cities.push(city);
              return Promise.resolve({ degrees: 4 });
            },
          }),
        },
      });
      expect(cities).toEqual(['Oslo']);
      expect(steps).toHaveLength(2);
      expect(text).toBe('Sandbox answer to: weather?');
    });

    it('gets an object that matches a schema, and JSON without a schema', async () => {
      const { output } = await generateText({
        model: modelOf(),
        prompt: 'the weather',
        output: Output.object({ schema: z.object({ city: z.string(), degrees: z.number() }) }),
      });
      expect(output).toEqual({ city: 'sandbox', degrees: 1 });
      const free = await generateText({ model: modelOf(), prompt: 'anything', output: Output.json() });
      expect(free.output).toEqual({ answer: 'anything' });
    });

    it('sends an image', async () => {
      const { text } = await generateText({
        model: modelOf(),
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'what is this?' },
              { type: 'file', mediaType: 'image/png', data: onePixel },
            ],
          },
        ],
      });
      expect(text).toBe('Sandbox answer to: what is this?');
    });

    it('gets the same answer for the same Idempotency-Key', async () => {
      const request = { model: modelOf(), prompt: 'only once with ai', headers: { 'idempotency-key': randomUUID() } };
      const first = await generateText(request);
      const again = await generateText(request);
      expect(again.finalStep.response.id).toBe(first.finalStep.response.id);
      expect(again.finalStep.response.headers?.['idempotent-replayed']).toBe('true');
      expect(await gateway.hits('only once with ai', 'chat')).toHaveLength(1);
    });
  });

  describe('an error in the AI SDK', () => {
    it('has the status, the error code and isRetryable', async () => {
      const narrow = await gateway.project({ models: ['deepseek-v3.2'] });
      const cases = [
        { model: modelOf('gpt-5-mini', 'sk-nobody'), status: 401, code: 'invalid_api_key' },
        { model: modelOf('gpt-5-mini', narrow.apiKey), status: 403, code: 'model_not_allowed' },
        { model: modelOf('gpt-1'), status: 404, code: 'model_not_found' },
        { model: modelOf('veo-3.1'), status: 400, code: 'model_type_mismatch' },
      ];
      for (const { model, status, code } of cases) {
        const refused = await refusalOf(generateText({ model, prompt: 'x' }));
        expect(refused).toMatchObject({ statusCode: status, isRetryable: false });
        expect(refused.message).not.toBe('');
        expect(codeOf(refused)).toBe(code);
      }
    });

    it('before a stream begins replaces it without any partial text', async () => {
      const seen: unknown[] = [];
      const { textStream } = streamText({
        model: modelOf(),
        prompt: '[[fail=refused]]',
        onError: ({ error }) => {
          seen.push(error);
        },
      });
      const texts: string[] = [];
      // The iteration may throw too. Both ways of reporting the error are accepted.
      try {
        for await (const text of textStream) texts.push(text);
      } catch (error) {
        seen.push(error);
      }
      expect(texts).toEqual([]);
      const [refused] = seen;
      if (!APICallError.isInstance(refused))
        throw new Error('Expected the SDK to report an API error', { cause: refused });
      expect(refused.statusCode).toBe(400);
      expect(codeOf(refused)).toBe('content_policy_violation');
    });

    it('for lack of credits is not retried', async () => {
      const poor = await gateway.project({ credits: 0 });
      const refused = await refusalOf(generateText({ model: modelOf('gpt-5-mini', poor.apiKey), prompt: 'x' }));
      expect(refused).toMatchObject({ statusCode: 402, isRetryable: false });
      expect(codeOf(refused)).toBe('insufficient_credits');
      expect(await requestsOf(gateway, poor)).toEqual([{ path: chatPath, status: 402 }]);
    });

    it('over the rate limit is retryable and has Retry-After', async () => {
      const limited = await gateway.project({ rpm: 1 });
      const request = { model: modelOf('gpt-5-mini', limited.apiKey), prompt: 'x', maxRetries: 0 };
      await generateText(request);
      const over = await refusalOf(generateText(request));
      expect(over).toMatchObject({ statusCode: 429, isRetryable: true });
      expect(Number(over.responseHeaders?.['retry-after'])).toBeGreaterThan(0);
    });

    it('of failing upstreams is retried by the SDK, and the chat is charged once', async () => {
      const unlucky = await gateway.project();
      const { text } = await generateText({
        model: modelOf('gpt-5-mini', unlucky.apiKey),
        prompt: 'unlucky with ai [[fail=transient times=3]]',
      });
      expect(text).toBe('Sandbox answer to: unlucky with ai');
      expect((await requestsOf(gateway, unlucky)).map(({ status }) => status)).toEqual([502, 200]);
      expect((await accountOf(gateway.database, unlucky.projectId)).balance).toBe(999);
    });
  });
});
const modelOf = (name = 'gpt-5-mini', apiKey = project.apiKey) =>
  createOpenAICompatible({
    name: 'tollgate',
    baseURL: `${gateway.baseUrl}/api/v1`,
    apiKey,
    supportsStructuredOutputs: true,
  }).chatModel(name);

const chatPath = '/api/v1/chat/completions';
const onePixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** The error of a refused call. After retries this is the last error. */
async function refusalOf(call: PromiseLike<unknown>): Promise<APICallError> {
  const error: unknown = await call.then(
    () => null,
    (reason: unknown) => reason,
  );
  const last = RetryError.isInstance(error) ? error.lastError : error;
  if (!APICallError.isInstance(last)) throw new Error('Expected the SDK to throw an API error', { cause: error });
  return last;
}
const codeOf = ({ responseBody }: APICallError): unknown =>
  z.object({ error: z.object({ code: z.string() }) }).parse(JSON.parse(responseBody ?? '')).error.code;
