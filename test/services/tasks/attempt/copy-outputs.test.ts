import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pino } from 'pino';
import { copyOutputs, planCopies, type CopyReport } from '../../../../src/services/tasks/attempt/copy-outputs.ts';
import { testConfig } from '../../../support/test-config.ts';
import type { Database } from '../../../../src/db/database.ts';
import { draftFiles, recordFile } from '../../../../src/db/files/files.ts';
import type { TaskType } from '../../../../src/domain/tasks/task.ts';
import { createEgress } from '../../../../src/platform/egress/egress.ts';
import { createFileStore, type FileStore } from '../../../../src/platform/files/file-store.ts';
import { newId } from '../../../../src/platform/crypto/ids.ts';
import { clip } from '../../../../packages/sandbox/src/clip.ts';
import { picture } from '../../../../packages/sandbox/src/picture.ts';
import { admitted, newTask, openBook, openLedger, rowsOf } from '../../../db/books.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';

let scratch: TestDatabase;
let db: Database;
let folder: string;
let files: FileStore;
/** The channel's own origin, which the operator trusts. */
let channel: Listening;
/** Another server on loopback, which must receive no connection. */
let sentinel: Listening;
let serve: RequestListener;

beforeAll(async () => {
  scratch = await createTestDatabase();
  db = await scratch.open();
});
afterAll(() => scratch.drop());
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-copies-'));
  files = await createFileStore({ ...config.files, localDir: folder });
  channel = await listen((request, response) => serve(request, response));
  sentinel = await listen((_request, response) => response.end('secret'));
});
afterEach(async () => {
  await Promise.all([channel.close(), sentinel.close()]);
  rmSync(folder, { recursive: true, force: true });
});

describe('the copy of a result', () => {
  it('is stored and measured', async () => {
    serve = (_request, response) => response.end(png);
    const report = await copy(`${channel.url}/a.png`);
    expect(report).toMatchObject({
      kind: 'copied',
      files: [{ mimeType: 'image/png', bytes: png.length, width: 64, height: 48 }],
    });
    expect(stored()).toHaveLength(1);
  });

  it('leaves a file of another type out if a result of the right one is there, and keeps nothing of it', async () => {
    const clipBytes = clip({ width: 64, height: 48, seconds: 1, seed: 1 });
    serve = (request, response) => response.end(request.url === '/thumbnail' ? png : clipBytes);
    const task = await accepted();
    const url = [`${channel.url}/thumbnail`, `${channel.url}/clip`];
    expect(await copyAs(task, newId('att'), { url, type: 'video' })).toMatchObject({
      kind: 'copied',
      files: [{ mimeType: 'video/mp4', width: 64 }],
    });
    expect([stored().length, (await filesOf(task)).length]).toEqual([1, 1]);
  });

  it.each([
    ['plain http on loopback', () => `${sentinel.url}/a.png`],
    ['https on loopback', () => `https://127.0.0.1:${sentinel.port}/a.png`],
    ['loopback as a decimal number', () => `http://2130706433:${sentinel.port}/a.png`],
    ['the name localhost', () => `https://localhost:${sentinel.port}/a.png`],
    ['the metadata service', () => 'http://169.254.169.254/latest/meta-data/'],
    ['plain http to a public name', () => 'http://cdn.example/a.png'],
    ['another port of the channel', () => `http://127.0.0.1:${sentinel.port}/same-host.png`],
    ['a file on our own disk', () => 'file:///etc/passwd'],
    ['a URL with a password', () => `https://user:word@127.0.0.1:${sentinel.port}/`],
  ])('is refused without a connection: %s', async (_what, url) => {
    expect(await copy(url())).toMatchObject({ kind: 'failed', code: 'upstream_invalid_response' });
    await expectNothingKept();
  });

  it("sends the channel's credential to the channel's own origin, and follows one redirect from it", async () => {
    const received: [path: string, key: unknown][] = [];
    serve = (request, response) => {
      received.push([request.url ?? '', request.headers['x-goog-api-key']]);
      if (request.url === '/v1/a:download') return response.writeHead(302, { location: '/stored/a.png' }).end();
      return response.end(png);
    };
    expect(await copy(`${channel.url}/v1/a:download`)).toMatchObject({ kind: 'copied' });
    expect(received).toEqual([
      ['/v1/a:download', 'the-key'],
      ['/stored/a.png', 'the-key'],
    ]);
  });

  it.each([301, 302, 303, 307, 308])('follows five redirects with %d, and no sixth', async (status) => {
    let requests = 0;
    serve = (request, response) => {
      requests += 1;
      const hop = Number(/\d+/.exec(request.url ?? '')?.[0]);
      if (hop === 0) response.end(png);
      else response.writeHead(status, { location: `hop-${hop - 1}.png` }).end();
    };
    expect(await copy(`${channel.url}/hop-5.png`)).toMatchObject({ kind: 'copied' });
    expect(requests).toBe(6);
    requests = 0;
    expect(await copy(`${channel.url}/hop-6.png`, 'image', () => (requests < 6 ? 20_000 : 0))).toMatchObject({
      kind: 'failed',
      code: 'upstream_invalid_response',
    });
    expect(requests).toBe(6);
    expect(stored()).toHaveLength(1);
  });

  it('trusts the own origin of the channel no more after a redirect has left it', async () => {
    const received: unknown[] = [];
    const other = await listen((_request, response) =>
      response.writeHead(302, { location: `${channel.url}/private` }).end(),
    );
    serve = (request, response) => {
      received.push([request.url, request.headers['x-goog-api-key']]);
      if (request.url === '/private') response.end(png);
      else response.writeHead(302, { location: `${other.url}/away` }).end();
    };
    try {
      // The guard allows loopback here, so that the requests arrive.
      expect(await copy(`${channel.url}/first`, 'image', 20_000, ['127.0.0.0/8'])).toMatchObject({ kind: 'copied' });
      expect(received).toEqual([
        ['/first', 'the-key'],
        ['/private', undefined],
      ]);
    } finally {
      await other.close();
    }
  });

  it('blocks a private address at each hop', async () => {
    for (const hops of [1, 2, 5]) {
      serve = (request, response) => {
        const hop = Number(/\d+/.exec(request.url ?? '')?.[0]);
        response.writeHead(307, { location: hop > 1 ? `/hop-${hop - 1}` : `${sentinel.url}/a.png` }).end();
      };
      expect(await copy(`${channel.url}/hop-${hops}`)).toMatchObject({
        kind: 'failed',
        code: 'upstream_invalid_response',
        detail: expect.stringContaining('not acceptable'),
      });
    }
    await expectNothingKept();
  });

  it.each([300, 304, 400, 401, 402, 403, 404, 405, 409, 410, 416, 418, 425, 451, 499])(
    'is requested again after %d, like every other refusal of a paid result',
    async (status) => {
      let requests = 0;
      serve = (_request, response) => (++requests === 1 ? response.writeHead(status).end() : response.end(png));
      expect(await copy(`${channel.url}/a.png`)).toMatchObject({ kind: 'copied' });
      expect(requests).toBe(2);
    },
  );

  it.each([408, 429, 500, 502, 503, 504, 522, 529])(
    'is requested again after %d, until the deadline',
    async (status) => {
      let requests = 0;
      serve = (_request, response) => (++requests === 1 ? response.writeHead(status).end() : response.end(png));
      expect(await copy(`${channel.url}/a.png`)).toMatchObject({ kind: 'copied' });
      expect(requests).toBe(2);
    },
  );

  it('sends the credential to no other origin, neither directly nor after a redirect', async () => {
    const keys: unknown[] = [];
    const otherOrigin = await listen((request, response) => {
      keys.push(request.headers['x-goog-api-key']);
      response.end(png);
    });
    try {
      serve = (_request, response) => response.writeHead(302, { location: `${otherOrigin.url}/a.png` }).end();
      // The egress guard allows loopback here, so that the requests reach the other origin.
      expect(await copy(`${channel.url}/a.png`, 'image', 20_000, ['127.0.0.0/8'])).toMatchObject({ kind: 'copied' });
      expect(await copy(`${otherOrigin.url}/a.png`, 'image', 20_000, ['127.0.0.0/8'])).toMatchObject({
        kind: 'copied',
      });
      expect(keys).toEqual([undefined, undefined]);
    } finally {
      await otherOrigin.close();
    }
  });

  it("follows no redirect to a blocked address, even from the channel's own origin", async () => {
    serve = (_request, response) => response.writeHead(302, { location: `${sentinel.url}/a.png` }).end();
    expect(await copy(`${channel.url}/a.png`)).toMatchObject({ kind: 'failed', code: 'upstream_invalid_response' });
    await expectNothingKept();
  });

  it.each([403, 404])(
    'requests a result that is refused with %d five times, then fails as upstream_invalid_response',
    async (status) => {
      let requests = 0;
      serve = (_request, response) => {
        requests += 1;
        response.writeHead(status).end();
      };
      expect(await copy(`${channel.url}/a.png`)).toMatchObject({ kind: 'failed', code: 'upstream_invalid_response' });
      expect(requests).toBe(5);
      await expectNothingKept();
    },
  );

  it('succeeds if the result is found at the second request', async () => {
    let requests = 0;
    serve = (_request, response) => (++requests === 1 ? response.writeHead(404).end() : response.end(png));
    expect(await copy(`${channel.url}/a.png`)).toMatchObject({ kind: 'copied' });
  });

  it('aborts the download of a result that is larger than allowed', async () => {
    serve = (_request, response) => {
      const chunk = Buffer.alloc(64_000);
      const more = (): void =>
        void (response.destroyed || (response.write(chunk) ? setImmediate(more) : response.once('drain', more)));
      more();
    };
    expect(await copy(`${channel.url}/a.png`)).toMatchObject({
      kind: 'failed',
      code: 'upstream_invalid_response',
      detail: 'the result is too large',
    });
    await expectNothingKept();
  });

  it.each([
    ['HTML', Buffer.from('<!doctype html><title>Sign in</title>')],
    ['empty', Buffer.alloc(0)],
    ['JSON', Buffer.from('{"error":"expired"}')],
  ])('refuses a result with the Content-Type image/png whose body is %s', async (_what, bytes) => {
    serve = (_request, response) => response.writeHead(200, { 'content-type': 'image/png' }).end(bytes);
    expect(await copy(`${channel.url}/a.png`)).toMatchObject({ kind: 'failed', code: 'upstream_invalid_response' });
    await expectNothingKept();
  });

  it('refuses a picture as the result of a video task', async () => {
    serve = (_request, response) => response.end(png);
    expect(await copy(`${channel.url}/a.png`, 'video')).toMatchObject({
      kind: 'failed',
      code: 'upstream_invalid_response',
    });
    await expectNothingKept();
  });

  it('retries an interrupted download until the deadline, then fails as output_unavailable', async () => {
    let requests = 0;
    serve = (_request, response) => {
      requests += 1;
      response
        .writeHead(200, { 'content-length': png.length })
        .write(png.subarray(0, png.length / 2), () => response.destroy());
    };
    expect(await copy(`${channel.url}/a.png`, 'image', () => (requests < 2 ? 20_000 : 0))).toMatchObject({
      kind: 'failed',
      code: 'output_unavailable',
    });
    expect(requests).toBeGreaterThan(1);
    await expectNothingKept();
  });

  it('retries after a 503 and succeeds', async () => {
    let requests = 0;
    serve = (_request, response) => (++requests === 1 ? response.writeHead(503).end() : response.end(png));
    expect(await copy(`${channel.url}/a.png`)).toMatchObject({ kind: 'copied' });
    expect(requests).toBe(2);
  });

  it.each([
    ['that is a data: URI', () => `data:image/png;base64,${png.toString('base64')}`],
    ['at a URL', () => `${channel.url}/a.png`],
  ])('retries when our own file store fails, for a result %s', async (_what, url) => {
    serve = (_request, response) => response.end(png);
    let puts = 0;
    const failure = () => (++puts <= 2 ? Promise.reject(new Error('the bucket is unavailable')) : undefined);
    const failing: FileStore = { ...files, put: (...args) => failure() ?? files.put(...args) };
    expect(await copyAs(await accepted(), newId('att'), { url: url(), files: failing })).toMatchObject({
      kind: 'copied',
    });
    expect(puts).toBe(3);
    expect(stored()).toHaveLength(1);
  });

  it("retries until the task's deadline while our own file store is unavailable", async () => {
    let tries = 0;
    const unavailable: FileStore = {
      ...files,
      put: () => {
        tries += 1;
        return Promise.reject(new Error('the bucket is unavailable'));
      },
    };
    const url = `data:image/png;base64,${png.toString('base64')}`;
    const forMs = () => (tries < 2 ? 20_000 : 0);
    const report = await copyAs(await accepted(), newId('att'), { url, files: unavailable, forMs });
    expect(report).toMatchObject({ kind: 'failed', code: 'output_unavailable' });
    expect(tries).toBe(2);
    await expectNothingKept();
  });
});

describe('two runs of one attempt', () => {
  it('share no file: the second run does not change the files of the first', async () => {
    const task = await accepted();
    serve = (_request, response) => response.end(png);
    const report = await copyAs(task, newId('att'), { url: `${channel.url}/a.png` });
    const [kept] = await filesOf(task);
    expect(report).toMatchObject({ kind: 'copied', files: [{ sha256: kept?.sha256 }] });

    // The provider's link has expired meanwhile, or returns another picture.
    const other = await picture({ width: 64, height: 48, seed: 2 });
    serve = (request, response) => response.end(request.url === '/other.png' ? other : '<!doctype html>');
    expect(await copyAs(task, newId('att'), { url: `${channel.url}/a.png` })).toMatchObject({ kind: 'failed' });
    expect(await filesOf(task)).toEqual([kept]);
    expect(await copyAs(task, newId('att'), { url: `${channel.url}/other.png` })).toMatchObject({ kind: 'copied' });
    expect(await filesOf(task)).toHaveLength(2);
    expect((await buffer(await files.open(kept?.storageKey ?? ''))).equals(png)).toBe(true);
  });

  it('leave no file that the cleanup cannot find, even if one dies after storing its bytes', async () => {
    const task = await accepted();
    serve = (_request, response) => response.end(png);
    let isDead = false;
    const forMs = () => {
      if (isDead) throw new Error('simulated death');
      return 20_000;
    };
    const dying: FileStore = {
      ...files,
      async put(...args) {
        await files.put(...args);
        isDead = true;
        throw new Error('retried by the copy');
      },
    };
    const copying = copyAs(task, newId('att'), { url: `${channel.url}/a.png`, files: dying, forMs });
    await expect(copying).rejects.toThrow('simulated death');
    const [left] = await filesOf(task);
    expect(left).toMatchObject({ expires: true });
    expect(await files.exists(left?.storageKey ?? '')).toBe(true);
  });
});

const config = testConfig({
  DATABASE_URL: 'postgresql://127.0.0.1/none',
  KEY_PEPPERS: `p1:${Buffer.alloc(32, 1).toString('base64')}`,
  MASTER_KEYS: `m1:${Buffer.alloc(32, 2).toString('base64')}`,
  POLL_INTERVAL_MIN_MS: '10',
  POLL_INTERVAL_MAX_MS: '50',
  OUTPUT_IMAGE_MAX_BYTES: '200000',
});
const png = await picture({ width: 64, height: 48, seed: 1 });

async function copy(
  url: string,
  type: TaskType = 'image',
  /** The time until the deadline, or a function that returns the time left. */
  forMs: number | (() => number) = 20_000,
  allowCidrs: string[] = [],
): Promise<CopyReport> {
  return copyAs(await accepted(), newId('att'), { url, type, forMs, allowCidrs });
}

interface Accepted {
  taskId: string;
  projectId: string;
}

async function accepted(): Promise<Accepted> {
  const book = await openBook(db, { credits: 10 });
  const { taskId } = await admitted(openLedger(db), newTask(book, 4));
  return { taskId, projectId: book.projectId };
}

/** Copies one result as the run with the fencing token `fence`: between its draft and its record, as an attempt does. */
async function copyAs(
  { taskId, projectId }: Accepted,
  fence: string,
  options: {
    url: string | string[];
    type?: TaskType;
    forMs?: number | (() => number);
    allowCidrs?: string[];
    files?: FileStore;
  },
): Promise<CopyReport> {
  const { forMs = 20_000 } = options;
  const begunAt = performance.now();
  // The default of production: only the channel's own origin is trusted.
  const egress = createEgress({ allowCidrs: options.allowCidrs ?? [], callbackPorts: [] });
  const copies = planCopies(
    { attemptId: `att_${taskId}`, fence },
    [options.url].flat().map((url) => ({ url })),
  );
  const fields = { projectId, taskId, purpose: 'output', keptSeconds: 60 } as const;
  await draftFiles(db, { ...fields, drafts: copies.map(({ draft }) => draft) });
  const report = await copyOutputs(
    { config, db, files: options.files ?? files, egress, logger: pino({ level: 'silent' }) },
    {
      taskId,
      type: options.type ?? 'image',
      copies,
      channelBaseUrl: `${channel.url}/some/path`,
      channelHeaders: { 'x-goog-api-key': 'the-key' },
      remainingMs: () => (typeof forMs === 'number' ? begunAt + forMs - performance.now() : forMs()),
      signal: new AbortController().signal,
    },
  );
  if (report.kind === 'copied') for (const file of report.files) await recordFile(db, { ...file, ...fields });
  return report;
}

const filesOf = ({ taskId }: Accepted): Promise<{ storageKey: string; sha256: string; expires: boolean }[]> =>
  rowsOf(db, 'select storage_key, sha256, expires_at is not null as expires from file where task_id = $1', [taskId]);

const stored = (): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) =>
    entry.isFile() ? [entry.name] : [],
  );

async function expectNothingKept(): Promise<void> {
  expect(sentinel.connections()).toBe(0);
  expect(stored()).toEqual([]);
  expect(await rowsOf(db, `select storage_key from file where storage_key like 'outputs/%' and bytes = 0`)).toEqual([]);
}

interface Listening {
  url: string;
  port: number;
  connections(): number;
  close(): Promise<void>;
}

async function listen(handle: RequestListener): Promise<Listening> {
  const server: Server = createServer(handle);
  let count = 0;
  server.on('connection', () => (count += 1));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    connections: () => count,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
