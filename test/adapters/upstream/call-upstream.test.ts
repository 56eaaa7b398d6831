import { createServer, type AddressInfo, type Server } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  createUpstreamCaller,
  type CallOutcome,
  type UpstreamCall,
  type UpstreamCaller,
} from '../../../src/adapters/upstream/call-upstream.ts';
import { readOutcome, toSubmit, type ReadError } from '../../../src/adapters/upstream/classify-outcome.ts';
import { holdTimer, passAfterPause } from '../../support/held-timer.ts';
import { informational } from '../../support/informational-answers.ts';
import { StreamCut } from '../../../src/adapters/upstream/stream-upstream.ts';
import { createReplyServer, type ReplyServer } from '../reply-server.ts';

const read = (json: unknown): string | null =>
  typeof json === 'object' && json !== null && 'id' in json && typeof json.id === 'string' ? json.id : null;
const readError: ReadError = (json) =>
  typeof json === 'object' && json !== null && 'code' in json && typeof json.code === 'string' ? [json.code] : null;

describe('toSubmit', () => {
  const answered = (status: number, json?: unknown, headers: Record<string, string> = {}): CallOutcome => ({
    kind: 'answered',
    status,
    headers,
    body: json === undefined ? { unreadable: 'not_json' } : { json },
  });
  const own = (code: string) => ({ code });

  it.each<[string, CallOutcome, string, string | undefined]>([
    ['a good answer', answered(200, { id: 'a' }), 'ok', undefined],
    ['a failure before anything was sent', { kind: 'not_sent', detail: 'ECONNREFUSED' }, 'transient', 'connect'],
    [
      'a connection that breaks after the request was sent',
      { kind: 'interrupted', detail: 'UND_ERR_SOCKET' },
      'unknown',
      'interrupted',
    ],
    ['200 without a reference', answered(200, {}), 'unknown', 'unreadable'],
    ['200 that is not JSON', answered(200), 'unknown', 'unreadable'],
    ['202 that is not JSON', answered(202), 'unknown', 'unreadable'],
    ['301', answered(301), 'transient', 'redirect'],
    ['307', answered(307), 'transient', 'redirect'],
    ['400', answered(400, own('bad_input')), 'refused', 'rejected'],
    ['400 for moderation', answered(400, own('content_policy_violation')), 'refused', 'content_policy'],
    ['403 for moderation', answered(403, own('content_filter')), 'refused', 'content_policy'],
    ['413', answered(413), 'refused', 'rejected'],
    ['422', answered(422), 'refused', 'rejected'],
    ['401', answered(401), 'transient', 'account'],
    ['402', answered(402), 'transient', 'account'],
    ['403 without a reason', answered(403), 'transient', 'forbidden'],
    ['403 for an empty account', answered(403, own('insufficient_credits')), 'transient', 'account'],
    ['429 for an empty account', answered(429, own('insufficient_quota')), 'transient', 'account'],
    ['404', answered(404), 'transient', 'unknown_model'],
    ['400 for an unknown model', answered(400, own('model_not_found')), 'transient', 'unknown_model'],
    ['408', answered(408), 'unknown', 'interrupted'],
    ['409', answered(409), 'unknown', 'interrupted'],
    ['425', answered(425), 'unknown', 'interrupted'],
    ['429', answered(429), 'transient', 'rate_limit'],
    ['503 from a proxy', answered(503), 'transient', 'provider_error'],
    ["500 with the provider's error", answered(500, own('internal')), 'transient', 'provider_error'],
    ["502 with the provider's error", answered(502, own('internal')), 'transient', 'provider_error'],
    ['500 from a proxy', answered(500), 'unknown', 'unreadable'],
    ['502 from a proxy', answered(502, { message: 'Bad Gateway' }), 'unknown', 'unreadable'],
    ['504 from a proxy', answered(504), 'unknown', 'unreadable'],
    ["529 with the provider's error", answered(529, own('overloaded')), 'transient', 'provider_error'],
  ])('classifies %s', (_name, outcome, kind, errorClass) => {
    const attempt = toSubmit(readOutcome(outcome, read, readError));
    expect(attempt.kind).toBe(kind);
    expect(attempt.kind === 'ok' ? undefined : attempt.errorClass).toBe(errorClass);
  });

  it.each<[string, CallOutcome, 'unanswered' | 'answering' | undefined]>([
    ['no headers in time', { kind: 'interrupted', detail: 'UND_ERR_HEADERS_TIMEOUT' }, 'unanswered'],
    ['no answer in time', { kind: 'interrupted', detail: 'timeout' }, 'unanswered'],
    ['408', answered(408), 'unanswered'],
    ["504 with the provider's error", answered(504, own('DEADLINE_EXCEEDED')), 'unanswered'],
    ['524', answered(524), 'unanswered'],
    [
      'a body that does not end in time',
      { kind: 'answered', status: 200, headers: {}, body: { unreadable: 'timed_out' } },
      'answering',
    ],
    ['a connection that breaks', { kind: 'interrupted', detail: 'UND_ERR_SOCKET' }, undefined],
    ['no connection in time', { kind: 'not_sent', detail: 'UND_ERR_CONNECT_TIMEOUT' }, undefined],
    ['409', answered(409), undefined],
    ["503 with the provider's error", answered(503, own('overloaded')), undefined],
    ['502 from a proxy', answered(502), undefined],
  ])('tells whether the time ran out: %s', (_name, outcome, timedOut) => {
    const attempt = toSubmit(readOutcome(outcome, read, readError));
    expect(attempt.kind === 'ok' ? attempt : attempt.timedOut).toBe(timedOut);
  });

  it.each<[string, number | undefined]>([
    ['7', 7],
    ['0', 1],
    ['Sat, 21 Nov 2026 12:00:30 GMT', 30],
    ['Sat, 21 Nov 2026 11:00:00 GMT', 1],
    ['99999999999', 86_400],
    ['soon', undefined],
    ['', undefined],
  ])('reads Retry-After %p as %p seconds', (header, seconds) => {
    const now = () => Date.parse('2026-11-21T12:00:00Z');
    const verdict = readOutcome(answered(429, undefined, { 'retry-after': header }), read, readError, now);
    expect(verdict.kind === 'trouble' && verdict.retryAfterSeconds).toBe(seconds);
  });

  it("never repeats a provider's prose, which may quote the prompt", () => {
    const attempt = toSubmit(readOutcome(answered(400, own('your prompt "a secret fox" is bad')), read, readError));
    expect(attempt).toMatchObject({ kind: 'refused', detail: 'HTTP 400' });
  });
});

describe('one upstream call', () => {
  let replies: ReplyServer;
  let caller: UpstreamCaller;
  beforeAll(async () => {
    replies = await createReplyServer();
    caller = createUpstreamCaller();
  });
  afterAll(async () => {
    await caller.close();
    await replies.close();
  });
  const call = (more: Partial<UpstreamCall> = {}, baseUrl = replies.url) =>
    caller.call(
      { channelId: 'c', baseUrl, credential: 'x' },
      { method: 'POST', path: '/a', body: { prompt: 'p' }, signal: new AbortController().signal, ...more },
    );

  it('sends one plain JSON request and reads one JSON answer', async () => {
    replies.answer({ status: 201, body: { id: 'a' }, headers: { 'Retry-After': '7' } });
    expect(await call({ path: '/a?b=c', headers: { authorization: 'Key k' } })).toMatchObject({
      kind: 'answered',
      status: 201,
      headers: { 'retry-after': '7' },
      body: { json: { id: 'a' } },
    });
    expect(replies.received).toMatchObject([
      {
        method: 'POST',
        path: '/a?b=c',
        body: '{"prompt":"p"}',
        headers: { authorization: 'Key k', 'content-type': 'application/json', 'accept-encoding': 'identity' },
      },
    ]);
  });

  const closing: Server[] = [];
  afterAll(() => closing.forEach((server) => server.close()));

  it.each(informational)('skips %s before each answer on a kept connection', async (_what, before) => {
    let connections = 0;
    const body = '{"id":"a"}';
    const server = createServer((socket) => {
      connections += 1;
      socket.on('data', () => {
        socket.write(before);
        setImmediate(() =>
          socket.write(
            `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
          ),
        );
      });
      socket.on('error', () => undefined);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closing.push(server);
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    for (const n of [1, 2, 3]) {
      expect({ n, ...(await call({}, url)) }).toMatchObject({
        n,
        kind: 'answered',
        status: 200,
        body: { json: { id: 'a' } },
      });
    }
    const limits = { firstByteMs: 60_000, idleMs: 60_000, wholeMs: 60_000 };
    const streamed = await caller.stream(
      { channelId: 'c', baseUrl: url, credential: 'x' },
      { method: 'POST', path: '/a', body: {}, limits, bodyBytesMax: 1_000, streamBytesMax: 1_000 },
    );
    expect(streamed).toMatchObject({ kind: 'answered', status: 200 });
    // Fewer than calls: at least one connection was used again.
    expect(connections).toBeLessThan(4);
  });

  it.each([
    ['ends a stream whose events never end at its limit of bytes, and leaves the provider', Infinity],
    ['reads a stream that has as many bytes as its limit to its end', 100],
  ])('%s', async (_what, events) => {
    const event = `data: ${'x'.repeat(992)}\n\n`;
    const streamBytesMax = 100 * event.length;
    const closed = Promise.withResolvers<void>();
    replies.answer((_request, response) => {
      response.on('close', () => closed.resolve());
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      let sent = 0;
      const more = (): void => {
        while (!response.destroyed && sent < events) if ((sent++, !response.write(event))) return;
        if (!response.destroyed) response.end();
      };
      response.on('drain', more);
      more();
    });
    const limits = { firstByteMs: 60_000, idleMs: 60_000, wholeMs: 60_000 };
    const streamed = await caller.stream(
      { channelId: 'c', baseUrl: replies.url, credential: 'x' },
      { method: 'POST', path: '/a', body: {}, limits, bodyBytesMax: 1_000, streamBytesMax },
    );
    if (streamed.kind !== 'streaming') throw new Error(streamed.kind);
    let received = 0;
    const ended = await streamed
      .each((bytes) => {
        received += bytes.length;
        return undefined;
      })
      .catch((error: unknown) => error);
    if (events === Infinity) {
      expect(ended).toEqual(new StreamCut('too_large', false));
      expect(received).toBeLessThanOrEqual(streamBytesMax);
    } else {
      expect(ended).toBeUndefined();
      expect(received).toBe(streamBytesMax);
    }
    await closed.promise;
  });

  it('returns not_sent if there is no connection', async () => {
    const gone = await createReplyServer();
    await gone.close();
    expect(await call({}, gone.url)).toMatchObject({ kind: 'not_sent' });
    expect(await call({}, 'http://does-not-exist.invalid')).toMatchObject({ kind: 'not_sent' });
    // TLS to a plain server: the handshake fails before any byte of the request.
    expect(await call({}, replies.url.replace('http:', 'https:'))).toMatchObject({ kind: 'not_sent' });
    expect(await call({}, 'not a url')).toMatchObject({ kind: 'not_sent' });
    expect(await call({ signal: AbortSignal.abort() })).toMatchObject({ kind: 'not_sent' });
  });

  it('returns not_sent for a stream whose caller has left before it was sent', async () => {
    replies.answer(() => undefined);
    const limits = { firstByteMs: 30_000, idleMs: 30_000, wholeMs: 30_000 };
    const bounds = { limits, bodyBytesMax: 1_000, streamBytesMax: 1_000, signal: AbortSignal.abort() };
    const upstream = { channelId: 'c', baseUrl: replies.url, credential: 'x' };
    const outcome = await caller.stream(upstream, { method: 'POST', path: '/a', body: {}, ...bounds });
    expect(outcome).toEqual({ kind: 'not_sent', detail: 'ended by the caller' });
    expect(replies.received).toEqual([]);
  });

  it('returns interrupted if the request was sent and no status came back', async () => {
    replies.answer((request) => request.socket.destroy());
    expect(await call()).toMatchObject({ kind: 'interrupted' });
    replies.answer(() => undefined);
    expect(await call({ headersMs: 400 })).toMatchObject({ kind: 'interrupted' });
    const controller = new AbortController();
    replies.answer(() => controller.abort());
    expect(await call({ signal: controller.signal })).toMatchObject({ kind: 'interrupted' });
  });

  it.each(['its limit', 'that of its caller'])(
    'reads an answer that arrived in time, though this process paused until after %s',
    async (limit) => {
      const callers = new AbortController();
      const pass = limit === 'its limit' ? holdTimer(60_001) : () => callers.abort();
      replies.answer((_request, response) => {
        response.end(JSON.stringify({ id: 'a' }), () => passAfterPause(pass));
      });
      const outcome = await call({ timeoutMs: 60_001, signal: callers.signal });
      expect(outcome).toMatchObject({ kind: 'answered', body: { json: { id: 'a' } } });
    },
  );

  it('ends a slow body that never idles', async () => {
    const passLimit = holdTimer(60_001);
    replies.answer((_request, response) => {
      response.writeHead(200);
      let drips = 0;
      const drip = setInterval(() => {
        response.write('x');
        // The status has arrived by then: the event loop has read every socket between two drips.
        if ((drips += 1) === 5) passLimit();
      }, 50);
      response.once('close', () => clearInterval(drip));
    });
    const outcome = await call({ timeoutMs: 60_001 });
    expect(outcome).toMatchObject({ kind: 'answered', status: 200, body: { unreadable: 'timed_out' } });
    expect(toSubmit(readOutcome(outcome, read, readError))).toMatchObject({
      kind: 'unknown',
      errorClass: 'interrupted',
    });
  });

  it('ends headers that never end', async () => {
    const passLimit = holdTimer(60_001);
    const server = createServer((socket) => {
      let drip: NodeJS.Timeout | undefined;
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\n');
        let drips = 0;
        drip = setInterval(() => {
          socket.write('x-a: b\r\n');
          if ((drips += 1) === 5) passLimit();
        }, 50);
      });
      socket.once('close', () => clearInterval(drip));
      socket.on('error', () => undefined);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = address !== null && typeof address === 'object' ? address.port : 0;
    expect(await call({ timeoutMs: 60_001 }, `http://127.0.0.1:${port}`)).toMatchObject({ kind: 'interrupted' });
    await new Promise((resolve) => server.close(resolve));
  });

  it('keeps the status of an answer that is cut off, too large or compressed', async () => {
    replies.answer((_request, response) => {
      response.writeHead(503, { 'content-length': 100 });
      response.write('{"id":', () => response.destroy());
    });
    expect(await call()).toMatchObject({ status: 503, body: { unreadable: 'cut_short' } });
    replies.answer({ status: 200, text: JSON.stringify({ id: 'x'.repeat(2_000) }) });
    expect(await call({ bodyBytesMax: 1_000 })).toMatchObject({ status: 200, body: { unreadable: 'too_large' } });
    expect(await call({ bodyBytesMax: 10_000 })).toMatchObject({ status: 200, body: { json: expect.anything() } });
    replies.answer((_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' });
      response.end(gzipSync('{"id":"a"}'));
    });
    expect(await call()).toMatchObject({ status: 200, body: { unreadable: 'encoded' } });
  });

  it('never follows a redirect', async () => {
    replies.answer({ status: 307, headers: { location: '/b' } });
    expect(await call()).toMatchObject({ kind: 'answered', status: 307 });
    expect(replies.received).toHaveLength(1);
  });

  it('does not throw for a header that cannot be sent', async () => {
    expect(await call({ headers: { authorization: 'Key a\nb' } })).toMatchObject({ kind: 'not_sent' });
  });
});
