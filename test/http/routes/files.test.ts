import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { SignedFile } from '../../../src/http/http-deps.ts';
import { fileRoute } from '../../../src/http/routes/files.ts';
import { startFrame, until, type Frame } from '../support.ts';

const bytes = Buffer.from('0123456789');
const sha256 = createHash('sha256').update(bytes).digest('hex');
const expires = Math.floor(Date.now() / 1_000) + 600;
const opened: Readable[] = [];

const file = (more: Partial<SignedFile> = {}): SignedFile => ({
  stream: (range) => {
    const stream = Readable.from([bytes.subarray(range?.start ?? 0, (range?.end ?? bytes.length) + 1)], {
      objectMode: false,
    });
    opened.push(stream);
    return stream;
  },
  bytes: bytes.length,
  mimeType: 'image/png',
  sha256,
  fileName: 'out.png',
  ...more,
});

const stored: Record<string, SignedFile> = {
  file_png: file(),
  file_other: file(),
  file_html: file({ mimeType: 'text/html', fileName: '../../<x>"\r\n.html' }),
  file_lost: file({ stream: () => Readable.from(failing(), { objectMode: false }) }),
  file_torn: file({ stream: () => Readable.from(torn(), { objectMode: false }) }),
};
async function* failing(): AsyncGenerator<Buffer> {
  yield await Promise.reject<Buffer>(new Error('ENOENT /secret/path'));
}
async function* torn(): AsyncGenerator<Buffer> {
  yield bytes.subarray(0, 3);
  await new Promise((resolve) => setTimeout(resolve, 20));
  throw new Error('the disk went away');
}

const isGood = (id: string, until: number, signature: string): boolean =>
  until === expires && signature === 'good' && id in stored;

let frame: Frame;
beforeAll(async () => {
  frame = await startFrame({
    routes: [
      fileRoute({
        signedFiles: {
          ownerOf: (id, until, signature) =>
            Promise.resolve(isGood(id, until, signature) ? (id === 'file_other' ? 'prj_2' : 'prj_1') : null),
          openSigned: (id, until, signature) => Promise.resolve((isGood(id, until, signature) && stored[id]) || null),
        },
      }),
    ],
  });
});
afterAll(async () => {
  await frame.close({ drainSeconds: 0 });
});

const get = (id: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Response> =>
  fetch(`${frame.url}/files/${id}?expires=${expires}&signature=good`, { headers, method });

describe('GET /files/:id', () => {
  it('serves the file with its type, hash and remaining lifetime, and with a sandbox policy', async () => {
    const answer = await get('file_png');
    expect(answer.status).toBe(200);
    expect(await answer.text()).toBe('0123456789');
    const headers = Object.fromEntries(answer.headers);
    expect(headers).toMatchObject({
      'content-type': 'image/png',
      'content-length': '10',
      'accept-ranges': 'bytes',
      etag: `"${sha256}"`,
      'x-content-type-options': 'nosniff',
      'content-disposition': 'inline; filename="out.png"',
      connection: 'close',
    });
    expect(headers['content-security-policy']).toMatch(/^sandbox/);
    const [, seconds] = /^private, max-age=(\d+)$/.exec(headers['cache-control'] ?? '') ?? [];
    expect(Number(seconds)).toBeGreaterThan(0);
    expect(Number(seconds)).toBeLessThanOrEqual(600);
  });

  it.each(['utm_source=mail', 'fbclid=x&utm_campaign=a%20b', 'expires=1&signature=evil', '%00=%ff'])(
    'serves the file if another program has added %s to its URL',
    async (added) => {
      const answer = await fetch(`${frame.url}/files/file_png?expires=${expires}&signature=good&${added}`);
      expect([answer.status, await answer.text()]).toEqual([200, '0123456789']);
    },
  );

  it.each<[string, Record<string, string>, number]>([
    ['file_png', {}, 200],
    ['file_png', { range: 'bytes=0-3' }, 206],
    ['file_png', { range: 'bytes=10-' }, 416],
    ['file_gone', {}, 404],
  ])('lets the page of any origin read the answer for %s with %j', async (id, headers, status) => {
    const answer = await get(id, { ...headers, origin: 'https://app.example' });
    expect(answer.status).toBe(status);
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    expect(answer.headers.get('access-control-expose-headers')).toContain('Content-Range');
  });

  it('serves any other type than images and videos as an octet-stream download with a sanitized name', async () => {
    const { headers } = await get('file_html');
    expect(headers.get('content-type')).toBe('application/octet-stream');
    expect(headers.get('content-disposition')).toBe('attachment; filename="_.._x_.html"');
  });

  it.each([
    ['bytes=0-3', 206, '0123', 'bytes 0-3/10'],
    ['bytes=8-', 206, '89', 'bytes 8-9/10'],
    ['bytes=-2', 206, '89', 'bytes 8-9/10'],
    ['bytes=-99', 206, '0123456789', 'bytes 0-9/10'],
    ['bytes=5-99', 206, '56789', 'bytes 5-9/10'],
    ['bytes=10-', 416, '', 'bytes */10'],
    ['bytes=-0', 416, '', 'bytes */10'],
    ['bytes=5-2', 200, '0123456789', null],
    ['bytes=0-1,4-5', 200, '0123456789', null],
    ['lines=0-1', 200, '0123456789', null],
    ['bytes=-', 200, '0123456789', null],
  ])('answers Range %s with %i', async (range, status, text, contentRange) => {
    const answer = await get('file_png', { range });
    expect([answer.status, await answer.text(), answer.headers.get('content-range')]).toEqual([
      status,
      text,
      contentRange,
    ]);
    expect(answer.headers.get('content-length')).toBe(String(text.length));
  });

  it('compares If-Range and If-None-Match with the hash', async () => {
    expect((await get('file_png', { range: 'bytes=0-3', 'if-range': `"${sha256}"` })).status).toBe(206);
    expect((await get('file_png', { range: 'bytes=0-3', 'if-range': '"other"' })).status).toBe(200);
    const fresh = await get('file_png', { 'if-none-match': `"${sha256}"` });
    expect([fresh.status, await fresh.text()]).toEqual([304, '']);
    expect((await get('file_png', { 'if-none-match': `"other", W/"${sha256}"` })).status).toBe(304);
    expect((await get('file_png', { 'if-none-match': '"other"' })).status).toBe(200);
  });

  it('answers HEAD with the same headers without opening the file', async () => {
    const before = opened.length;
    const answer = await get('file_png', {}, 'HEAD');
    expect([answer.status, answer.headers.get('content-length'), answer.headers.get('content-type')]).toEqual([
      200,
      '10',
      'image/png',
    ]);
    expect((await get('file_png', { range: 'bytes=0-3' }, 'HEAD')).headers.get('content-length')).toBe('4');
    expect(opened.length).toBe(before);
  });

  it('answers the same 404 to a wrong, expired or missing signature and to an unknown file', async () => {
    const bodies = new Set<string>();
    for (const path of [
      `file_png?expires=${expires}&signature=bad`,
      `file_png?expires=${expires + 1}&signature=good`,
      'file_png?expires=x&signature=good',
      'file_png',
      `file_none?expires=${expires}&signature=good`,
      `..%2f..%2fetc%2fpasswd?expires=${expires}&signature=good`,
    ]) {
      const answer = await fetch(`${frame.url}/files/${path}`);
      expect(answer.status).toBe(404);
      bodies.add(await answer.text());
    }
    expect([...bodies]).toHaveLength(1);
    expect([...bodies][0]).toContain('file_not_found');
  });

  it('answers 500 if the file cannot be read, and closes the connection if reading fails later', async () => {
    const lost = await get('file_lost');
    expect([lost.status, lost.headers.get('content-disposition'), lost.headers.get('cache-control')]).toEqual([
      500,
      null,
      'no-store',
    ]);
    expect(await lost.text()).not.toContain('secret');
    await expect(get('file_torn').then((answer) => answer.text())).rejects.toThrow();
  });

  it('closes the file when the client hangs up', async () => {
    let destroyed = false;
    stored['file_slow'] = file({
      bytes: 1_000_000_000,
      stream: () =>
        new Readable({
          read() {
            this.push(Buffer.alloc(65_536));
          },
          destroy(error, done) {
            destroyed = true;
            done(error);
          },
        }),
    });
    const abort = new AbortController();
    const answer = await fetch(`${frame.url}/files/file_slow?expires=${expires}&signature=good`, {
      signal: abort.signal,
    });
    expect(answer.status).toBe(200);
    abort.abort();
    await until(() => destroyed);
  });

  it('refuses a project that has most of the downloads, and serves another project', async () => {
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    let waiting = 0;
    async function* held(): AsyncGenerator<Buffer> {
      waiting += 1;
      await released;
      yield bytes;
    }
    stored['file_held'] = file({ stream: () => Readable.from(held(), { objectMode: false }) });
    // 376 of 500: the first one that leaves less than a quarter is the last.
    const calls = Array.from({ length: 376 }, () => get('file_held'));
    await until(() => waiting === 376);
    const refused = await get('file_held');
    expect([refused.status, refused.headers.get('retry-after'), refused.headers.get('connection')]).toEqual([
      503,
      '2',
      'close',
    ]);
    expect(await (await get('file_other')).text()).toBe('0123456789');
    release();
    expect(new Set(await Promise.all(calls.map(async (call) => (await call).text())))).toEqual(new Set(['0123456789']));
    expect((await get('file_held')).status).toBe(200);
  });
});
