import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { revokeKey } from '../../../src/services/projects/revoke-key.ts';
import type { Answer } from '../../support/api-client.ts';
import { eventually } from '../../support/eventually.ts';
import { startGateway, type Gateway, type TestProject } from '../../support/gateway.ts';
import { sideBySide } from '../../support/side-by-side.ts';
import { chat, chatRoute, chatFacts, contentOf, endReasonOf, type ChatFacts } from './chats.ts';
import { letModelsStream, stream, streamedModels, streamFromEach, streamHits, type Streamed } from './streams.ts';

/** Longer than a chat takes to begin on a busy machine. */
const deadlineSeconds = 8;
let gateway: Gateway;
/** An API server that waits no longer than a test of its limits can. The other has the limits of production. */
let hastyUrl: string;
let project: TestProject;

beforeAll(async () => {
  // Seven seconds for streams to finish, and five for those that are interrupted then. After fifteen seconds the gateway would have begun an answer
  // with 200 to the client that waits for the first piece.
  gateway = await startGateway({ workers: 0, env: { SHUTDOWN_DRAIN_SECONDS: '12' } });
  ({ baseUrl: hastyUrl } = await gateway.startApi({
    CHAT_SILENCE_SECONDS: '12',
    CHAT_DEADLINE_SECONDS: String(deadlineSeconds),
    CHAT_ATTEMPT_LEFT_MIN_SECONDS: '1',
    CHAT_HOLD_EXTRA_SECONDS: '1',
  }));
  project = await gateway.project({ credits: 1_000_000 });
  await letModelsStream(gateway, project.apiKey);
});
afterAll(async () => {
  const { ok } = await gateway.verifyLedger();
  await gateway.stop();
  expect(ok).toBe(true);
});

const send = (text: string, model: string, options?: Parameters<typeof stream>[3]): Promise<Streamed> =>
  stream(gateway, project.apiKey, { model, text }, options);

/** The end of a chat, once it is written. */
const factsOf = ({ requestId }: Streamed): Promise<ChatFacts> =>
  eventually(async () => {
    const facts = await chatFacts(gateway, requestId);
    return facts?.state === 'held' ? null : facts;
  });

let prompts = 0;
/** A prompt that no other test sends, with a script for the sandbox. */
const scripted = (script: string): string => `Stream ${(prompts += 1)} of this file [[${script}]]`;

/** Within the 15 % that an estimate may be wrong by. */
const expectAbout = (tokens: number | null, generated: number | { least: number; most: number }): void => {
  const { least, most } = typeof generated === 'number' ? { least: generated, most: generated } : generated;
  expect(tokens).toBeGreaterThanOrEqual(Math.floor(least * 0.85));
  expect(tokens).toBeLessThanOrEqual(Math.ceil(most * 1.15));
};

/** The provider's call of a chat that was left, once the provider has noticed. It wrote more than came to the client. */
const leftHit = (text: string) =>
  eventually(async () => (await streamHits(gateway, text)).find(({ left_at }) => left_at !== undefined));

describe.each(Object.entries(streamedModels))('a chat that is streamed from %s', (_family, model) => {
  const together = sideBySide();

  // Ten seconds long: what comes while the gateway stands still becomes one piece.
  together('arrives in pieces and is charged by the usage that its provider reports', async () => {
    const streamed = await send(scripted('tokens=200 rate=20'), model);
    expect(streamed).toMatchObject({ status: 200, finish: 'stop', isDone: true, error: null });
    expect(streamed.headers.get('x-tollgate-stream')).toBe('live');
    expect(streamed.headers.get('x-tollgate-credits')).toBeNull();
    expect(streamed.text).toMatch(/^the gate is open and the toll/);
    expect(streamed.chunks.length).toBeGreaterThan(2);
    expect(await factsOf(streamed)).toMatchObject({
      state: 'settled',
      outputTokens: 200,
      usageEstimated: false,
      settledAmount: streamed.cost?.credits,
    });
    expect(await endReasonOf(gateway, streamed.requestId)).toBeNull();
  });

  it('has the counts in a chunk of their own when the client asks for them', async () => {
    const streamed = await send(scripted('tokens=9'), model, { fields: { stream_options: { include_usage: true } } });
    const last = streamed.chunks.at(-1);
    expect(last).toMatchObject({ choices: [], usage: { completion_tokens: 9 }, tollgate: { attempts: 1 } });
    expect(streamed.chunks.slice(0, -1).every(({ usage, tollgate }) => usage === null && tollgate === undefined)).toBe(
      true,
    );
  });

  it('shows thoughts apart from the answer and charges both', async () => {
    const streamed = await send(scripted('reasoning=20 tokens=10'), model);
    expect(streamed.reasoning.split(' ')).toHaveLength(20);
    expect(streamed.text.split(' ')).toHaveLength(10);
    expect(await factsOf(streamed)).toMatchObject({ outputTokens: 30 });
  });

  it('calls a tool in pieces that add up', async () => {
    const tools = [{ type: 'function', function: { name: 'weather', parameters: { type: 'object' } } }];
    const streamed = await send(scripted('tool=weather args={"city":"Bern"}'), model, { fields: { tools } });
    const calls = streamed.chunks.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? []);
    expect(calls[0]).toMatchObject({ index: 0, id: expect.any(String), function: { name: 'weather' } });
    expect(calls.map((call) => call.function.arguments).join('')).toBe('{"city":"Bern"}');
    expect(streamed.finish).toBe('tool_calls');
  });

  it('costs nothing when the client leaves before the first piece', async () => {
    const { apiKey, keyId } = await gateway.key(project.projectId);
    const text = scripted('latency=30000');
    const leaving = new AbortController();
    const sent = stream(gateway, apiKey, { model, text }, { signal: leaving.signal }).catch(() => null);
    await eventually(async () => (await streamHits(gateway, text)).length > 0);
    leaving.abort();
    await sent;
    const ended = await eventually(async () => {
      const [row] = await gateway.database.query<{ id: string; state: string }>(
        'test-chat-of-key',
        `select id, state from reservation where key_id = $1`,
        [keyId],
      );
      return row?.state === 'held' ? null : row;
    });
    expect(ended.state).toBe('refunded');
    expect(await endReasonOf(gateway, ended.id)).toBe('client_left');
    expect(await streamHits(gateway, text)).toHaveLength(1);
  });

  for (const [what, word, code, reason] of [
    ['is cut off', 'cut=10', 'upstream_error', 'upstream_interrupted'],
    ['has an event that is not JSON', 'garble=10', 'upstream_error', 'upstream_failed'],
    ['reports an error', 'break=10', 'upstream_error', 'upstream_failed'],
    ['is silent for too long', 'silent=10', 'upstream_timeout', 'upstream_timeout'],
  ] as const) {
    together(`ends with an error event and is charged as far as it came when its provider ${what}`, async () => {
      const baseUrl = word === 'silent=10' ? hastyUrl : gateway.baseUrl;
      const streamed = await send(scripted(`tokens=50 rate=200 ${word}`), model, { baseUrl });
      expect(streamed).toMatchObject({ status: 200, error: code, finish: 'error', isDone: false });
      expect(streamed.text.split(' ')).toHaveLength(10);
      const facts = await factsOf(streamed);
      expect(facts).toMatchObject({ state: 'settled' });
      expectAbout(facts.outputTokens, 10);
      expect(await endReasonOf(gateway, streamed.requestId)).toBe(reason);
    });
  }

  it('is estimated when its provider reports no usage', async () => {
    const streamed = await send(scripted('tokens=200 usage=none'), model);
    const facts = await factsOf(streamed);
    expect(facts.usageEstimated).toBe(true);
    expectAbout(facts.outputTokens, 200);
  });

  it('is never charged above its hold', async () => {
    const streamed = await send(scripted('tokens=20 usage=100000,60000'), model, { fields: { max_tokens: 20 } });
    const facts = await factsOf(streamed);
    expect(facts.settledAmount).toBe(facts.amount);
  });

  it('comes from another channel when the first fails before the first piece', async () => {
    const streamed = await send(scripted('tokens=5]] [[fail=transient times=1'), model);
    expect(streamed).toMatchObject({ status: 200, finish: 'stop', cost: { attempts: 2 } });
  });

  it('is refused with a status of its own when no channel answers', async () => {
    const streamed = await send(scripted('fail=transient'), model);
    expect(streamed).toMatchObject({ status: 502, error: 'upstream_error', chunks: [] });
  });
});

const { responses: thinkingModel, ...otherModels } = streamedModels;

describe.each(Object.entries(otherModels))('a chat that is streamed from %s and left', (_family, model) => {
  it('is charged as far as it was written when the client leaves, and its provider is left within seconds', async () => {
    const text = scripted('tokens=2000 rate=50');
    const streamed = await send(text, model, {
      fields: { max_tokens: 4_000 },
      leaveWhen: (soFar) => soFar.text.split(' ').length >= 10,
    });
    const facts = await factsOf(streamed);
    expect(facts).toMatchObject({ state: 'settled' });
    expect(await endReasonOf(gateway, streamed.requestId)).toBe('client_left');
    const { sent = 0 } = await leftHit(text);
    // The provider writes fifty in a second, for forty seconds. A gateway that does not stand still takes 120 of them.
    expect(sent).toBeLessThan(800);
    expectAbout(facts.outputTokens, { least: streamed.text.split(' ').length, most: sent });
  });

  it('is charged for thoughts that nobody will read', async () => {
    const text = scripted('reasoning=2000 tokens=10 rate=50');
    const streamed = await send(text, model, {
      fields: { max_tokens: 4_000 },
      leaveWhen: (soFar) => soFar.reasoning.split(' ').length >= 10,
    });
    const facts = await factsOf(streamed);
    const { sent = 0 } = await leftHit(text);
    expectAbout(facts.outputTokens, { least: streamed.reasoning.split(' ').length, most: sent });
  });
});

describe('a chat of a model that thinks out of sight', () => {
  it('is charged by the counts that come with its end when the client leaves in its middle', async () => {
    const text = scripted('tokens=1000 rate=50 usage=7,5000');
    const left = await send(text, thinkingModel, {
      fields: { max_tokens: 8_000 },
      leaveWhen: (soFar) => soFar.text.split(' ').length >= 10,
    });
    expect(left.isDone).toBe(false);
    expect(await factsOf(left)).toMatchObject({ state: 'settled', outputTokens: 5_000, usageEstimated: false });
    expect(await endReasonOf(gateway, left.requestId)).toBe('client_left');
  });
});

describe('a key whose clients leave before the first piece again and again', () => {
  it('is refused with 429 and Retry-After, and other keys and chats that are not streamed are not', async () => {
    const { apiKey } = await gateway.key(project.projectId);
    const text = scripted('latency=30000');
    const begin = (): Promise<Streamed> => stream(gateway, apiKey, { text }, { signal: leaving.signal });
    const leaving = new AbortController();
    const left = Promise.allSettled(Array.from({ length: 20 }, begin));
    await eventually(async () => (await streamHits(gateway, text)).length === 20);
    leaving.abort();
    await left;
    const refused = await eventually(async () => {
      const streamed = await stream(gateway, apiKey, { text: scripted('tokens=5') });
      return streamed.status === 429 && streamed;
    });
    expect(refused).toMatchObject({ error: 'rate_limit_exceeded', chunks: [] });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await chat(gateway, apiKey, 'short')).status).toBe(200);
    expect(await send(scripted('tokens=5'), streamedModels.openai)).toMatchObject({ status: 200 });
  });
});

describe('an answer that takes longer than the deadline of chats and the life of a hold', () => {
  /** Tokens at ten a second. */
  const tokens = 10 * (deadlineSeconds + 3);
  const models = Object.values(streamedModels);
  const together = sideBySide();

  together('arrives whole when it is streamed, from each family', async () => {
    const all = await Promise.all(
      models.map((model) => send(scripted(`tokens=${tokens} rate=10`), model, { baseUrl: hastyUrl })),
    );
    expect(all.map(({ finish, isDone }) => ({ finish, isDone }))).toEqual(
      models.map(() => ({ finish: 'stop', isDone: true })),
    );
    const facts = await Promise.all(all.map(factsOf));
    expect(facts.map(({ state, outputTokens }) => `${state} ${outputTokens}`)).toEqual(
      models.map(() => `settled ${tokens}`),
    );
  });

  const whole = (model: string, maxTokens: number): Promise<Answer> => {
    const messages = [{ role: 'user', content: scripted(`tokens=${tokens} rate=10`) }];
    return gateway.create(project.apiKey, chatRoute, { model, messages, max_tokens: maxTokens }, { baseUrl: hastyUrl });
  };

  together('arrives whole for a client that does not stream, from each family', async () => {
    const all = await Promise.all(models.map((model) => whole(model, 2_000)));
    expect(all.map(({ status }) => status)).toEqual(models.map(() => 200));
    expect(all.map((answer) => contentOf(answer)?.split(' ').length)).toEqual(models.map(() => tokens));
  });

  together(
    'arrives whole for a client that does not stream a model that thinks first, whatever length it allows',
    async () => {
      const answer = await whole(streamedModels.responses, 1_024);
      expect(answer.status).toBe(200);
      expect(contentOf(answer)?.split(' ')).toHaveLength(tokens);
    },
  );
});

describe('a chat of a model that is not streamed', () => {
  it('comes as one piece with its cost when stream is true', async () => {
    const streamed = await send(scripted('tokens=30'), 'deepseek-v3.2');
    expect(streamed).toMatchObject({ status: 200, finish: 'stop', isDone: true });
    expect(streamed.headers.get('x-tollgate-stream')).toBe('buffered');
    expect(streamed.headers.get('x-tollgate-credits')).toBe(String(streamed.cost?.credits));
    expect(streamed.chunks).toHaveLength(2);
    expect(streamed.chunks[0]?.choices[0]?.delta.role).toBe('assistant');
  });
});

describe('streamGenerateContent without alt=sse', () => {
  const Responses = z.array(
    z.object({
      candidates: z.array(
        z.object({ content: z.object({ parts: z.array(z.object({ text: z.string() })) }).optional() }).loose(),
      ),
    }),
  );
  const textOf = (body: string): string =>
    Responses.parse(JSON.parse(body))
      .flatMap(({ candidates }) => candidates[0]?.content?.parts ?? [])
      .map(({ text }) => text)
      .join('');

  const ask = (model: string, text: string, { query = '', headers = {} } = {}): Promise<Response> =>
    fetch(`${gateway.baseUrl}/api/v1beta/models/${model}:streamGenerateContent${query}`, {
      method: 'POST',
      headers: { 'x-goog-api-key': project.apiKey, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ contents: [{ role: 'user', parts: [{ text }] }] }),
    });

  const together = sideBySide();
  for (const model of Object.values(streamedModels)) {
    together(`is a JSON array of ${model} that arrives in pieces`, async () => {
      const answer = await ask(model, scripted('tokens=200 rate=20'));
      expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect(answer.headers.get('x-tollgate-stream')).toBe('live');
      const pieces: string[] = [];
      for await (const piece of (answer.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream()))
        pieces.push(piece);
      expect(pieces.length).toBeGreaterThan(2);
      expect(textOf(pieces.join('')).split(' ')).toHaveLength(200);
    });
  }

  it('ends with an error as the last element when the answer breaks off', async () => {
    const answer = await ask(streamedModels.gemini, scripted('tokens=30 rate=200 break=10'));
    expect(JSON.parse(await answer.text())).toEqual(
      expect.arrayContaining([{ error: expect.objectContaining({ code: 502 }) }]),
    );
  });

  it('is repeated for its Idempotency-Key in the format that the repetition asks for', async () => {
    const headers = { 'idempotency-key': 'stream-gemini' };
    const text = scripted('tokens=20');
    const first = await ask(streamedModels.gemini, text, { headers, query: '?alt=sse' });
    const events = await first.text();
    const again = await ask(streamedModels.gemini, text, { headers });
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(textOf(await again.text())).toBe(
      textOf(`[${events.replaceAll('data: ', '').trim().replaceAll('\n\n', ',')}]`),
    );
    expect(await streamHits(gateway, text)).toHaveLength(1);
  });
});

describe('an Idempotency-Key of a streamed chat', () => {
  it('repeats content and ending without another call or charge', async () => {
    const headers = { 'idempotency-key': 'stream-1' };
    const text = scripted('tokens=25 rate=200');
    const first = await send(text, streamedModels.openai, { headers });
    const again = await send(text, streamedModels.openai, { headers });
    expect(again).toMatchObject({ text: first.text, finish: 'stop', isDone: true, cost: first.cost });
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(again.headers.get('x-tollgate-stream')).toBe('buffered');
    expect(await streamHits(gateway, text)).toHaveLength(1);
  });

  it('repeats the error of an answer that broke off and was charged', async () => {
    const headers = { 'idempotency-key': 'stream-2' };
    const text = scripted('tokens=50 rate=200 cut=10');
    const first = await send(text, streamedModels.openai, { headers });
    const again = await send(text, streamedModels.openai, { headers });
    expect(again).toMatchObject({ text: first.text, error: 'upstream_error', isDone: false });
    expect(await streamHits(gateway, text)).toHaveLength(1);
  });
});

describe('streamed chats of a key that is revoked', () => {
  it('are finished and charged, from each family', async () => {
    const { keyId, apiKey } = await gateway.key(project.projectId);
    const all = await streamFromEach(
      gateway,
      apiKey,
      () => scripted('tokens=60 rate=30'),
      () => revokeKey({ db: gateway.database }, { keyId, actor: 'test' }),
    );
    for (const streamed of all) {
      expect(streamed).toMatchObject({ finish: 'stop', isDone: true });
      expect(await factsOf(streamed)).toMatchObject({ state: 'settled', outputTokens: 60 });
    }
    expect((await chat(gateway, apiKey, 'hello')).status).toBe(401);
  });
});

describe('an API server whose places for streams are taken', () => {
  it('refuses one more stream of that project, and still serves another project and chats that are not streamed', async () => {
    const { baseUrl } = await gateway.startApi({ CHAT_STREAMS_MAX: '5', HTTP_IN_FLIGHT_MAX: '4' });
    const [greedy, other] = await Promise.all([gateway.project({ credits: 1_000 }), gateway.project()]);
    const leaving = new AbortController();
    const begin = (apiKey: string, text: string, onText = (): void => undefined): Promise<Streamed> =>
      stream(
        gateway,
        apiKey,
        { model: streamedModels.openai, text },
        {
          baseUrl,
          fields: { max_tokens: 4_000 },
          leaveWhen: ({ text: soFar }) => {
            if (soFar !== '') onText();
            return leaving.signal.aborted;
          },
        },
      );
    const streams: Promise<Streamed>[] = [];
    for (let count = 0; count < 4; count++)
      await new Promise<void>((resolve) => {
        streams.push(begin(greedy.apiKey, scripted('tokens=2000 rate=20'), resolve));
      });
    expect(await begin(greedy.apiKey, scripted('tokens=5'))).toMatchObject({ status: 503, error: 'overloaded' });
    expect(await begin(other.apiKey, scripted('tokens=5'))).toMatchObject({ status: 200, finish: 'stop' });
    expect((await chat(gateway, greedy.apiKey, 'short', { baseUrl })).status).toBe(200);
    leaving.abort();
    await Promise.all(streams);
  });
});

describe('SIGTERM', () => {
  it('lets a stream finish, or ends it before the grace is over with an error event, charged as far as it came', async () => {
    let finishing: Promise<Streamed> | undefined;
    const unbegun = scripted('latency=30000');
    const waiting = send(unbegun, streamedModels.openai);
    await eventually(async () => (await streamHits(gateway, unbegun)).length > 0);
    const interrupted = await streamFromEach(
      gateway,
      project.apiKey,
      () => scripted('tokens=2000 rate=20'),
      async () => {
        let stopped: Promise<void> | undefined;
        finishing = send(scripted('tokens=20 rate=40'), streamedModels.openai, {
          leaveWhen: () => {
            stopped ??= gateway.kill('api-1', 'SIGTERM');
            return false;
          },
        });
        await finishing;
        await stopped;
      },
      { fields: { max_tokens: 4_000 } },
    );
    expect(await finishing).toMatchObject({ finish: 'stop', isDone: true });
    // Nothing of it had come.
    const { requestId, status } = await waiting;
    expect([status, await endReasonOf(gateway, requestId)]).toEqual([504, 'gateway_stopped']);
    for (const each of interrupted) {
      expect(each).toMatchObject({ finish: 'error', error: 'service_unavailable', isDone: false });
      const facts = await factsOf(each);
      expect(facts.state).toBe('settled');
      expect(await endReasonOf(gateway, each.requestId)).toBe('gateway_stopped');
      expectAbout(facts.outputTokens, each.text.split(' ').length);
    }
  });
});
