import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { request, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { createParser } from 'eventsource-parser';
import type { ChatUpstream } from '../../support/chat-upstream.ts';
import type { JsonObject } from '../../../src/domain/json.ts';
import { dialects, dialectNames } from '../../dialects/matrix.ts';
import { objectAt, parsed } from '../../dialects/json-at.ts';
import { eventually } from '../../support/eventually.ts';
import { beginEvents, familyWires, type FamilyName, type FamilyWire } from '../../support/family-wires.ts';
import type { Gateway } from '../../support/gateway.ts';
import { startChargeScene, type ChargeScene } from './charge-scene.ts';
import { chatBody, chatFacts, chatModel } from './chats.ts';
import { letModelsStream } from './streams.ts';

let gateway: Gateway;
let upstream: ChatUpstream;
let scene: ChargeScene & { stop(): Promise<void> };
beforeAll(async () => {
  scene = await startChargeScene();
  ({ gateway, upstream } = scene);
});
afterAll(() => scene?.stop());

/** Sends pieces of an answer without end, as fast as they are read. */
function pour(response: ServerResponse): void {
  const choice = { index: 0, delta: { content: 'word '.repeat(4_000) }, finish_reason: null };
  // Twice as much that is no text, so that the buffers are full long before the answer is too long.
  const event = `data: ${JSON.stringify({ choices: [choice], obfuscation: '.'.repeat(40_000) })}\n\n`;
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const more = (): void => {
    while (!response.destroyed && response.write(event));
  };
  response.on('drain', more);
  more();
}

/** Sends a streamed chat and reads nothing of its answer but the first bytes. */
async function beginToRead(apiKey: string): Promise<{ client: Socket; requestId: string }> {
  const { hostname, port } = new URL(gateway.baseUrl);
  const client = connect({ host: hostname, port: Number(port) });
  const body = JSON.stringify({ ...chatBody('endless'), stream: true, max_tokens: 128_000 });
  client.on('error', () => undefined);
  client.write(
    `POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${apiKey}\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
  const first = await new Promise<Buffer>((resolve) => client.once('data', resolve));
  client.pause();
  return { client, requestId: /x-request-id: (\S+)/i.exec(first.toString())?.[1] ?? '' };
}

describe('a client that stops reading its stream', () => {
  it('stops the provider too, is cut after its time, and is charged what was generated', async () => {
    const { apiKey } = await gateway.project({ credits: 10_000_000 });
    await letModelsStream(gateway, apiKey, [chatModel]);
    const responses: ServerResponse[] = [];
    upstream.serve((_request, response) => {
      responses.push(response);
      pour(response);
    });
    const { client, requestId } = await beginToRead(apiKey);
    const [response] = responses;
    const sent = (): number => response?.socket?.bytesWritten ?? 0;

    // Nothing is read from the provider any more: what it sends waits in its own process.
    const sentAt = await eventually(async () => {
      const before = sent();
      await new Promise((resolve) => setTimeout(resolve, 500));
      return before > 0 && sent() === before && before;
    });
    expect(response?.writableNeedDrain).toBe(true);
    // The buffers of the kernel, on both sides, and little more. The provider would have sent hundreds of megabytes.
    expect(sentAt).toBeLessThan(32_000_000);

    // Cut by the gateway, although the client would wait on.
    await eventually(() => Promise.resolve(response?.destroyed), { secondsMax: 150, what: 'the end of the call' });
    expect(client.destroyed).toBe(false);
    const facts = await eventually(async () => {
      const now = await chatFacts(gateway, requestId);
      return now?.state !== 'held' && now;
    });
    // More was generated than the answer may have, so all that was held is charged.
    expect(facts).toMatchObject({ state: 'settled', usageEstimated: true, settledAmount: facts.amount });
    client.destroy();
    expect(await gateway.verifyLedger()).toMatchObject({ ok: true });
  });
});

/** Numbered lines, so that a text whose pieces changed places differs. More than the buffers of two connections hold. */
const lines = Array.from({ length: 6_000 }, (_, index) => `${index} ${'lorem '.repeat(165)}\n`);

/** Sends the lines as fast as they are read. */
function sendLines(response: ServerResponse, wire: FamilyWire): void {
  beginEvents(response);
  response.write(wire.open(20));
  let next = 0;
  const more = (): void => {
    while (next < lines.length && !response.destroyed) {
      next += 1;
      if (!response.write(wire.text(lines[next - 1] ?? ''))) return;
    }
    response.off('drain', more);
    response.end(wire.end('stop', { input: 20, output: 400 }));
  };
  response.on('drain', more);
  more();
}

/** Sends a chat. What its answer brings waits until it is read. */
const ask = (path: string, apiKey: string, body: object): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
    request(`${gateway.baseUrl}${path}`, { method: 'POST', headers, agent: false }, resolve)
      .on('error', reject)
      .end(JSON.stringify(body));
  });

async function eventsOf(answer: IncomingMessage): Promise<JsonObject[]> {
  const events: JsonObject[] = [];
  const parser = createParser({
    onEvent: ({ data }) => {
      if (data !== '[DONE]') events.push(objectAt(parsed(data)));
    },
  });
  answer.setEncoding('utf8');
  for await (const text of answer) parser.feed(String(text));
  return events;
}

describe.each(Object.keys(familyWires) as FamilyName[])(
  'clients that read nothing of an answer of %s for a while',
  (family) => {
    const wire = familyWires[family];

    it('receive every byte in order in each dialect, pay the counts of the provider, and do not count against the channel', async () => {
      const { apiKey, projectId } = await gateway.project({ credits: 10_000_000 });
      await letModelsStream(gateway, apiKey, [wire.model]);
      const sockets: Socket[] = [];
      upstream.serve(({ socket }, response) => {
        sockets.push(socket);
        sendLines(response, wire);
      });
      const chatRequest = { model: wire.model, prompt: 'endless', isStream: true, maxTokens: 128_000 };
      const answers = await Promise.all(
        dialectNames.map((name) => {
          // The routes under /api/v1 limit the length to 8,192 tokens.
          const path = dialects[name].path(chatRequest).replace(/^\/api\/v1beta/, '/v1beta');
          return ask(path, apiKey, dialects[name].body(chatRequest));
        }),
      );
      expect(answers.map(({ statusCode }) => statusCode)).toEqual(dialectNames.map(() => 200));
      await untilNothingIsTaken(sockets, answers.length, apiKey);
      const texts = await Promise.all(
        answers.map(async (answer, index) => {
          const dialect = dialects[dialectNames[index] ?? 'messages'];
          return dialect.read(dialect.join(await eventsOf(answer))).text;
        }),
      );
      const whole = lines.join('');
      // Compared here, because the matcher would print megabytes.
      expect(texts.map((text) => text === whole)).toEqual(dialectNames.map(() => true));
      const ends = await gateway.database.query(
        'test-slow-ends',
        `select state, output_tokens, usage_estimated from reservation where project_id = $1`,
        [projectId],
      );
      expect(ends).toEqual(dialectNames.map(() => ({ state: 'settled', outputTokens: 400, usageEstimated: false })));
      expect(await failuresOf(wire.model)).toBe(0);
    });

    it('do not count against the channel when the provider loses its patience with them', async () => {
      const { apiKey, projectId } = await gateway.project({ credits: 10_000_000 });
      const sockets: Socket[] = [];
      upstream.serve(({ socket }, response) => {
        sockets.push(socket);
        sendLines(response, wire);
      });
      const chatRequest = { model: wire.model, prompt: 'endless', isStream: true, maxTokens: 128_000 };
      const client = dialects.messages;
      const answers = await Promise.all(
        Array.from({ length: 2 }, () => ask(client.path(chatRequest), apiKey, client.body(chatRequest))),
      );
      await untilNothingIsTaken(sockets, answers.length, apiKey);
      for (const socket of sockets) socket.resetAndDestroy();
      await Promise.all(answers.map(eventsOf));
      await eventually(async () => {
        const ends = await gateway.database.query(
          'test-slow-cut',
          `select 1 from reservation where project_id = $1 and state = 'settled'`,
          [projectId],
        );
        return ends.length === answers.length;
      });
      expect(await failuresOf(wire.model)).toBe(0);
    });
  },
);

/**
 * Resolves when all of these calls have begun and the gateway takes nothing more of them, or has taken all: nothing while it answers other
 * requests, so that it is their clients that it waits for.
 */
async function untilNothingIsTaken(sockets: Socket[], count: number, apiKey: string): Promise<void> {
  const sent = (): number => sockets.reduce((sum, { bytesWritten }) => sum + bytesWritten, 0);
  await eventually(async () => {
    const before = sent();
    // Few, because the gateway cuts a client off that reads nothing for 30 seconds.
    for (let turn = 0; turn < 10; turn++) await gateway.get(apiKey, '/api/v1/models');
    return sockets.length === count && sent() === before;
  });
}

/** The failures in a row that are noted of a model's channels, and the times that they tripped. */
async function failuresOf(modelId: string): Promise<number> {
  const [row] = await gateway.database.query<{ failures: number }>(
    'test-slow-failures',
    `select coalesce(sum(failures + trips), 0)::int as failures from channel_health where model_id = $1`,
    [modelId],
  );
  return row?.failures ?? -1;
}
