import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { ApiError, FunctionCallingConfigMode, GoogleGenAI, Type, type HttpRetryOptions } from '@google/genai';
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { startGateway, type Gateway, type TestProject } from '../support/gateway.ts';
import { accountOf } from '../support/rows.ts';
// The client asks globalThis for the dispatcher of Node's fetch, which exists only once undici is loaded.
import 'undici';
import { requestsOf } from './request-log.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ env: { RATE_LIMIT_REST_SECONDS: '12' } });
});
afterAll(() => gateway?.stop());

let project: TestProject;
let client: GoogleGenAI;

/** The client as documented, except for its base URL and its API version, whose default is `v1`. */
const clientOf = (apiKey: string, retryOptions?: HttpRetryOptions): GoogleGenAI =>
  new GoogleGenAI({
    apiKey,
    apiVersion: 'v1beta',
    httpOptions: { baseUrl: `${gateway.baseUrl}/api`, timeout: 120_000, ...(retryOptions && { retryOptions }) },
  });

const chat = 'gemini-2.5-flash';
const picture = 'nano-banana-pro';
const generatePath = '/api/v1beta/models/:model\\:generateContent';
const onePixel =
  'iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAIAAAAlC+aJAAAAT0lEQVR42u3PQQkAAAgEsItjRBObwwi+hcEKLNP1WgQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQELguHpmFpj8NWjwAAAABJRU5ErkJggg==';

const ErrorBody = z.object({
  error: z.object({
    code: z.int(),
    message: z.string(),
    status: z.string(),
    details: z.array(z.looseObject({ '@type': z.string(), reason: z.string().optional() })),
  }),
});

/** The error of a refused call, parsed from the message of the ApiError. */
async function refusalOf(call: Promise<unknown>) {
  const error: unknown = await call.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ApiError)) throw new Error('Expected the SDK to throw an API error', { cause: error });
  const { error: body } = ErrorBody.parse(JSON.parse(error.message));
  expect(body.code).toBe(error.status);
  return { code: body.code, status: body.status, reason: body.details[0]?.reason, details: body.details };
}

/** Tests of the package `@google/genai` against a running gateway. */
describe('@google/genai', () => {
  beforeAll(async () => {
    project = await gateway.project();
    client = clientOf(project.apiKey);
  });
  afterEach(async () => expect(await gateway.verifyLedger()).toMatchObject({ ok: true }));

  describe('the @google/genai client', () => {
    it.each([chat, 'gpt-5-mini', 'claude-sonnet-4.5'])('gets an answer from %s with its tokens', async (model) => {
      const before = await accountOf(gateway.database, project.projectId);
      const answer = await client.models.generateContent({
        model,
        contents: `hello ${model}`,
        config: { systemInstruction: 'Be brief.', maxOutputTokens: 64, temperature: 0, topP: 0.9 },
      });
      expect(answer.text).toBe(`Sandbox answer to: hello ${model}`);
      expect(answer.modelVersion).toBe(model);
      expect(answer.candidates?.[0]?.finishReason).toBe('STOP');
      const { promptTokenCount = 0, candidatesTokenCount = 0, totalTokenCount } = answer.usageMetadata ?? {};
      expect(promptTokenCount).toBeGreaterThan(0);
      expect(candidatesTokenCount).toBeGreaterThan(0);
      expect(totalTokenCount).toBe(promptTokenCount + candidatesTokenCount);
      const credits = Number(answer.sdkHttpResponse?.headers?.['x-tollgate-credits']);
      expect((await accountOf(gateway.database, project.projectId)).balance).toBe(before.balance - credits);
    });

    it('may prefix a model with "models/"', async () => {
      const answer = await client.models.generateContent({ model: `models/${chat}`, contents: 'prefixed' });
      expect(answer.text).toBe('Sandbox answer to: prefixed');
    });

    it('reads a stream, which has the whole answer in one chunk and calls the upstream once', async () => {
      const texts: (string | undefined)[] = [];
      const stream = await client.models.generateContentStream({
        model: chat,
        contents: 'in a stream [[usage=40,12]]',
      });
      for await (const chunk of stream) {
        texts.push(chunk.text);
        expect(chunk.usageMetadata).toMatchObject({ promptTokenCount: 40, candidatesTokenCount: 12 });
      }
      expect(texts).toEqual(['Sandbox answer to: in a stream']);
      expect(await gateway.hits('in a stream', 'chat')).toHaveLength(1);
    });

    it('keeps a conversation, plain and streamed', async () => {
      const conversation = client.chats.create({ model: chat });
      expect((await conversation.sendMessage({ message: 'one' })).text).toBe('Sandbox answer to: one');
      const texts: (string | undefined)[] = [];
      for await (const { text } of await conversation.sendMessageStream({ message: 'two' })) texts.push(text);
      expect(texts).toEqual(['Sandbox answer to: two']);
      expect(conversation.getHistory()).toHaveLength(4);
    });

    it('calls a function, sends its result back and reads the answer', async () => {
      const config = {
        tools: [
          {
            functionDeclarations: [
              {
                name: 'weather',
                description: 'The weather of a city',
                parameters: { type: Type.OBJECT, properties: { city: { type: Type.STRING } }, required: ['city'] },
              },
            ],
          },
        ],
        toolConfig: { functionCallingConfig: { mode: FunctionCallingConfigMode.AUTO } },
      };
      const question = { role: 'user', parts: [{ text: 'weather? [[tool=weather args={"city":"Oslo"}]]' }] };
      for (const model of [chat, 'gpt-5-mini']) {
        const first = await client.models.generateContent({ model, contents: [question], config });
        const [call] = first.functionCalls ?? [];
        expect(call).toMatchObject({ name: 'weather', args: { city: 'Oslo' } });
        const answered = await client.models.generateContent({
          model,
          config,
          contents: [
            question,
            first.candidates?.[0]?.content ?? {},
            {
              role: 'user',
              parts: [{ functionResponse: { id: call?.id ?? '', name: 'weather', response: { degrees: 4 } } }],
            },
          ],
        });
        expect(answered.text).toBe('Sandbox answer to: weather?');
      }
    });

    it('sends an image and gets an object that matches a schema', async () => {
      const answer = await client.models.generateContent({
        model: chat,
        contents: [{ inlineData: { mimeType: 'image/png', data: onePixel } }, { text: 'what is this?' }],
        config: {
          responseMimeType: 'application/json',
          responseSchema: {
            type: Type.OBJECT,
            properties: { what: { type: Type.STRING }, sure: { type: Type.BOOLEAN } },
            required: ['what', 'sure'],
          },
        },
      });
      expect(JSON.parse(answer.text ?? '')).toEqual({ what: 'sandbox', sure: true });
    });

    it('generates an image from a text and an input image, and is charged the price of its task', async () => {
      const before = await accountOf(gateway.database, project.projectId);
      const made = await client.models.generateContent({
        model: picture,
        contents: [{ text: 'a fox in snow' }, { inlineData: { mimeType: 'image/png', data: onePixel } }],
        config: { responseModalities: ['TEXT', 'IMAGE'], imageConfig: { aspectRatio: '16:9', imageSize: '2K' } },
      });
      const task = await gateway.poll(project.apiKey, made.responseId ?? '');
      expect(task).toMatchObject({ status: 'succeeded', input: { aspect_ratio: '16:9', img_size: '2k' } });
      const stored = await fetch(task.output?.[0]?.url ?? '', { signal: AbortSignal.timeout(60_000) });
      const bytes = Buffer.from(await stored.arrayBuffer());
      expect(Buffer.from(made.data ?? '', 'base64').equals(bytes)).toBe(true);
      expect(made.candidates?.[0]?.content?.parts?.[0]?.inlineData?.mimeType).toBe(stored.headers.get('content-type'));
      expect((await accountOf(gateway.database, project.projectId)).balance).toBe(
        before.balance - task.credits.charged,
      );

      const streamed = await client.models.generateContentStream({ model: picture, contents: 'a fox in a stream' });
      const chunks = [];
      for await (const chunk of streamed) chunks.push(chunk.data);
      expect(chunks).toEqual([expect.stringMatching(/^[\w+/]+=*$/)]);
    });

    it('gets the same answer for the same Idempotency-Key', async () => {
      const request = {
        model: chat,
        contents: 'only once with genai',
        config: { httpOptions: { headers: { 'idempotency-key': randomUUID() } } },
      };
      const first = await client.models.generateContent(request);
      const again = await client.models.generateContent(request);
      expect(again.responseId).toBe(first.responseId);
      expect(again.text).toBe(first.text);
      expect(await gateway.hits('only once with genai', 'chat')).toHaveLength(1);
    });
  });

  describe('an error in the @google/genai client', () => {
    it("is an ApiError with Google's status and the gateway's reason, plain and streamed", async () => {
      const narrow = await gateway.project({ models: ['gpt-5-mini'] });
      const cases = [
        { apiKey: 'sk-nobody', model: chat, expected: { code: 401, status: 'UNAUTHENTICATED' } },
        { apiKey: project.apiKey, model: 'gemini-0', expected: { code: 404, status: 'NOT_FOUND' } },
        { apiKey: narrow.apiKey, model: chat, expected: { code: 403, status: 'PERMISSION_DENIED' } },
        { apiKey: project.apiKey, model: 'veo-3.1', expected: { code: 400, status: 'INVALID_ARGUMENT' } },
      ];
      for (const { apiKey, model, expected } of cases) {
        const { models } = clientOf(apiKey);
        expect(await refusalOf(models.generateContent({ model, contents: 'x' }))).toMatchObject(expected);
        expect(await refusalOf(models.generateContentStream({ model, contents: 'x' }))).toMatchObject(expected);
      }
      const blocked = await refusalOf(client.models.generateContent({ model: chat, contents: '[[fail=refused]]' }));
      expect(blocked).toMatchObject({ code: 400, reason: 'CONTENT_POLICY_VIOLATION' });
      const counted = await refusalOf(client.models.countTokens({ model: chat, contents: 'x' }));
      expect(counted).toMatchObject({ code: 404, status: 'NOT_FOUND' });
    });

    it('for lack of credits is not retried, even if retries are enabled', async () => {
      const poor = await gateway.project({ credits: 0 });
      const retrying = clientOf(poor.apiKey, { attempts: 3, initialDelay: 0.05 });
      for (const model of [chat, picture]) {
        const refused = await refusalOf(retrying.models.generateContent({ model, contents: 'x' }));
        expect(refused).toMatchObject({ code: 402, status: 'FAILED_PRECONDITION', reason: 'INSUFFICIENT_CREDITS' });
      }
      expect(await requestsOf(gateway, poor)).toEqual(Array(2).fill({ path: generatePath, status: 402 }));
    });

    it('over the rate limit is RESOURCE_EXHAUSTED with a retry delay', async () => {
      const limited = clientOf((await gateway.project({ rpm: 1 })).apiKey);
      await limited.models.generateContent({ model: chat, contents: 'x' });
      const over = await refusalOf(limited.models.generateContent({ model: chat, contents: 'x' }));
      expect(over).toMatchObject({ code: 429, status: 'RESOURCE_EXHAUSTED' });
      expect(over.details).toContainEqual({
        '@type': 'type.googleapis.com/google.rpc.RetryInfo',
        retryDelay: expect.stringMatching(/^\d+s$/),
      });
    });

    it('of failing upstreams is retried if retries are enabled, and the chat is charged once', async () => {
      const unlucky = await gateway.project();
      const retrying = clientOf(unlucky.apiKey, { attempts: 3, initialDelay: 0.05 });
      const answer = await retrying.models.generateContent({
        model: 'gpt-5-mini',
        contents: 'unlucky with genai [[fail=transient times=3]]',
      });
      expect(answer.text).toBe('Sandbox answer to: unlucky with genai');
      expect((await requestsOf(gateway, unlucky)).map(({ status }) => status)).toEqual([502, 200]);
      expect((await accountOf(gateway.database, unlucky.projectId)).balance).toBe(999);
    });
  });
});
