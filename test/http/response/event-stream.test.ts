import { afterEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import Koa from 'koa';
import type { AppState } from '../../../src/http/context.ts';
import { EventStream } from '../../../src/http/response/event-stream.ts';
import { asMessageEvents } from '../../../src/http/dialects/anthropic/anthropic-chat-stream.ts';
import { asGeminiEvents } from '../../../src/http/dialects/gemini/gemini-chat-stream.ts';
import { asEvents, asJsonArray } from '../../../src/http/server/framing.ts';
import { watchPace } from '../../../src/http/server/slow-reader.ts';
import { eventually } from '../../support/eventually.ts';

const servers: Server[] = [];
const clients: Socket[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.destroy();
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

type Limits = ConstructorParameters<typeof EventStream>[2];
type Framing = ConstructorParameters<typeof EventStream>[1];

interface Opened {
  events: EventStream;
  /** The bytes that wait for the reader. */
  waiting: () => number;
  /** Reads nothing until it is resumed. */
  client: Socket;
  /** What the client has read, with the headers. */
  read: () => string;
}

/** An answer to a client that has sent its request. */
async function openStream(limits: Limits, framing?: Framing, version = '1.1'): Promise<Opened> {
  const app = new Koa<AppState>();
  // A reader that leaves is no news here.
  app.silent = true;
  const opened = new Promise<Pick<Opened, 'events' | 'waiting'>>((resolve) => {
    app.use(async (ctx) => {
      const events = new EventStream(Object.assign(ctx, { params: {} }), framing, limits);
      resolve({ events, waiting: () => ctx.res.writableLength });
      await once(ctx.res, 'close');
    });
  });
  const handle = app.callback();
  const server = createServer((request, response) => void handle(request, response));
  servers.push(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  const client = connect({
    port: address !== null && typeof address === 'object' ? address.port : 0,
    host: '127.0.0.1',
  });
  clients.push(client);
  let text = '';
  client.on('data', (bytes: Buffer) => (text += bytes.toString()));
  client.on('error', () => undefined);
  client.pause();
  client.write(`GET / HTTP/${version}\r\nHost: a\r\n\r\n`);
  return { ...(await opened), client, read: () => text };
}

const kilobytes = (count: number): string => `data: ${'x'.repeat(count * 1_000 - 8)}\n\n`;
/** More than the kernel's buffers of a connection take. */
const overflow = kilobytes(20_000);

describe('a stream of events', () => {
  it('sends status and headers with its first event, and can be refused until then', async () => {
    const { events, client, read } = await openStream({});
    client.resume();
    expect(events.isOpen).toBe(false);
    void events.write('data: first\n\n');
    expect(events.isOpen).toBe(true);
    events.end('data: last\n\n');
    await eventually(() => Promise.resolve(read().includes('data: last')));
    expect(read()).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(read()).toMatch(/content-type: text\/event-stream/i);
  });

  it.each([
    ['a comment', asEvents, ': the answer is on its way\n\n'],
    ['an event of Anthropic’s', asMessageEvents, 'event: ping\ndata: {"type": "ping"}\n\n'],
    [
      'an event without a word for Google’s SDKs',
      () => asGeminiEvents('m'),
      /\ndata: .*"parts":\[\{"text":""\}\].*"modelVersion":"m"\}\n\n/,
    ],
  ])('sends status and headers with %s after a silence, and one more after each further silence', async (...row) => {
    const [, framing, silence] = row;
    const { events, client, read } = await openStream({ silenceMs: 20 }, framing());
    client.resume();
    await eventually(() => Promise.resolve(read().split(silence).length > 3));
    expect(events.isOpen).toBe(true);
    events.end('');
  });

  it('counts the bytes of its chunks, and sends none to a client of HTTP/1.0', async () => {
    for (const version of ['1.1', '1.0']) {
      const { events, client, read } = await openStream({}, undefined, version);
      client.resume();
      void events.write('data: Zürich 東京\n\n');
      events.end('data: last\n\n');
      await eventually(() => Promise.resolve(read().includes('data: last\n\n')));
      await eventually(() => Promise.resolve(version === '1.0' || read().endsWith('0\r\n\r\n')));
      const body = version === '1.0' ? read().slice(read().indexOf('\r\n\r\n') + 4) : unchunked(read());
      expect(body).toBe('data: Zürich 東京\n\ndata: last\n\n');
    }
  });

  it('sends a bare object after its last event as a chunk of its own, which some readers parse as a whole', async () => {
    const { events, client, read } = await openStream({}, asGeminiEvents('m'));
    client.resume();
    events.end('data: {"error":1}\n\n{"error":1}\n\n');
    await eventually(() => Promise.resolve(read().endsWith('0\r\n\r\n')));
    expect(read()).toContain('\r\nd\r\n{"error":1}\n\n\r\n0\r\n\r\n');
    expect(unchunked(read())).toBe('data: {"error":1}\n\n{"error":1}\n\n');
  });

  it('asks its writer to wait for a reader that falls behind by 256 kB, and no longer than until it has caught up', async () => {
    const { events, waiting, client } = await openStream({});
    let wait: Promise<void> | undefined;
    while (!wait) wait = events.write(kilobytes(50));
    expect(waiting()).toBeGreaterThanOrEqual(256_000);
    expect(waiting()).toBeLessThan(256_000 + 51_000);
    client.resume();
    await wait;
    expect(waiting()).toBe(0);
    events.end('');
  });

  it('ends the wait when the reader leaves, and says that nobody reads any more', async () => {
    const { events, client } = await openStream({});
    const wait = events.write(overflow);
    client.destroy();
    await wait;
    expect(events.gone.aborted).toBe(true);
    expect(events.write('data: more\n\n')).toBeUndefined();
  });

  it('is cut when the reader takes too little in the time that it has', async () => {
    const { events, client } = await openStream({ slowWindowSeconds: 0.05 });
    const wait = events.write(overflow);
    await wait;
    expect(events.gone.aborted).toBe(true);
    client.resume();
    await once(client, 'close');
  });

  it('is not cut while it has nothing for its reader', async () => {
    const { events, client, read } = await openStream({ slowWindowSeconds: 0.02, silenceMs: 200 });
    client.resume();
    void events.write('data: first\n\n');
    await eventually(() => Promise.resolve(read().includes(': the answer is on its way')));
    expect(events.gone.aborted).toBe(false);
    events.end('');
  });
});

describe('a reader for whom more is waiting at all times', () => {
  const windowSeconds = 30;
  const least = 1_000 * windowSeconds;

  it('is fast enough with 1 kB/s, however long it stays behind', () => {
    const socket = { bytesWritten: 500_000, writableLength: 256_000 };
    const isTooSlow = watchPace(socket, windowSeconds);
    for (let windows = 0; windows < 20; windows++) {
      // As much is written as it takes, so that it never catches up.
      socket.bytesWritten += least;
      expect(isTooSlow()).toBe(false);
    }
  });

  it('is too slow with less, and also after it was fast', () => {
    const socket = { bytesWritten: 500_000, writableLength: 256_000 };
    const isTooSlow = watchPace(socket, windowSeconds);
    socket.bytesWritten += 100 * least;
    expect(isTooSlow()).toBe(false);
    socket.bytesWritten += least - 1;
    expect(isTooSlow()).toBe(true);
  });
});

describe('a stream as a JSON array', () => {
  it('is whole JSON, also after silences at any place', async () => {
    const { events, client, read } = await openStream({ silenceMs: 10 }, asJsonArray());
    client.resume();
    await eventually(() => Promise.resolve(read().includes('[\r\n')));
    void events.write('data: {"n":1}\n\ndata: {"n":2}\n\n');
    await eventually(() => Promise.resolve(read().includes('\n1\r\n\n\r\n')));
    events.end('data: {"n":3}\n\n');
    await eventually(() => Promise.resolve(read().endsWith('0\r\n\r\n')));
    expect(read()).toMatch(/content-type: application\/json/i);
    expect(JSON.parse(unchunked(read()))).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
  });

  it('begins with its bracket, because some readers accept nothing before it', () => {
    const framing = asJsonArray();
    expect(framing.silence() + framing.put('data: {}\n\n') + framing.silence() + framing.end).toBe('[{}\n]');
  });
});

/** The body of an answer in chunks. */
function unchunked(answer: string): string {
  let rest = Buffer.from(answer.slice(answer.indexOf('\r\n\r\n') + 4));
  let body = '';
  for (;;) {
    const end = rest.indexOf('\r\n');
    const size = parseInt(rest.toString('latin1', 0, end), 16);
    if (!(size > 0)) return body;
    body += rest.toString('utf8', end + 2, end + 2 + size);
    rest = rest.subarray(end + 2 + size + 2);
  }
}
