import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { ensureChannel } from '../../../src/commands/channels/ensure-channel.ts';
import { loadConfig } from '../../../src/config/load-config.ts';
import { createSealer } from '../../../src/platform/crypto/seal.ts';
import { startChatUpstream, type ChatUpstream } from '../../support/chat-upstream.ts';
import { eventually } from '../../support/eventually.ts';
import { startGateway, type Gateway } from '../../support/gateway.ts';
import { chatBody, chatFacts, chatModel, chatRoute } from './chats.ts';
import { letModelsStream } from './streams.ts';

let gateway: Gateway;
let upstream: ChatUpstream;
beforeAll(async () => {
  [gateway, upstream] = await Promise.all([startGateway({ workers: 0, sandbox: false }), startChatUpstream()]);
  await gateway.database.query('test-slow-channels', 'update channel set enabled = false');
  await ensureChannel(
    { db: gateway.database, sealer: createSealer(loadConfig(gateway.env).secrets.masterKeys) },
    {
      ...{ name: 'endless', adapter: 'openai', baseUrl: upstream.url, credential: 'x', groups: ['chat'] },
      ...{ priority: 0, weight: 1, actor: 'test' },
    },
  );
});
afterAll(async () => {
  await gateway?.stop();
  await upstream?.die();
});

/** Sends pieces of an answer without end, as fast as they are read. */
function pour(response: ServerResponse): void {
  const choice = { index: 0, delta: { content: 'word '.repeat(4_000) }, finish_reason: null };
  const event = `data: ${JSON.stringify({ choices: [choice] })}\n\n`;
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
  const body = JSON.stringify({ ...chatBody('endless'), stream: true });
  client.on('error', () => undefined);
  client.write(
    `POST ${chatRoute} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${apiKey}\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
  const first = await new Promise<Buffer>((resolve) => client.once('data', resolve));
  client.pause();
  return { client, requestId: /x-request-id: (\S+)/i.exec(first.toString())?.[1] ?? '' };
}

describe('a client that stops reading its stream', () => {
  it('stops the provider too, is cut after its time, and is charged what was generated', async () => {
    const { apiKey } = await gateway.project({ credits: 100_000 });
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
    await eventually(() => Promise.resolve(response?.destroyed), { secondsMax: 75, what: 'the end of the call' });
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
