import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pino } from 'pino';
import { copyOutputs, type CopyReport } from '../../../src/commands/tasks/copy-outputs.ts';
import { loadConfig } from '../../../src/config/load-config.ts';
import type { Database } from '../../../src/db/database.ts';
import type { TaskType } from '../../../src/domain/task.ts';
import { createEgress } from '../../../src/platform/egress/egress.ts';
import { createFileStore, type FileStore } from '../../../src/platform/files/file-store.ts';
import { newId } from '../../../src/platform/crypto/ids.ts';
import { picture } from '../../../src/sandbox/picture.ts';
import { admitted, newTask, openBook, openLedger, rowsOf } from '../../db/books.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';

let scratch: TestDatabase;
let db: Database;
let folder: string;
let files: FileStore;
/** The channel's own origin, which the operator trusts. */
let channel: Listening;
/** On loopback and not the channel's: nobody may come here. */
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
  it('is stored, measured and recorded', async () => {
    serve = (_request, response) => response.end(png);
    const report = await copy(`${channel.url}/a.png`);
    expect(report).toMatchObject({
      kind: 'copied',
      outputs: [{ mime_type: 'image/png', bytes: png.length, width: 64, height: 48 }],
    });
    expect(stored()).toHaveLength(1);
  });

  it.each([
    ['plain http on loopback', () => `${sentinel.url}/a.png`],
    ['https on loopback', () => `https://127.0.0.1:${sentinel.port}/a.png`],
    ['loopback in disguise', () => `http://2130706433:${sentinel.port}/a.png`],
    ['a local name', () => `https://localhost:${sentinel.port}/a.png`],
    ['the metadata service', () => 'http://169.254.169.254/latest/meta-data/'],
    ['plain http to a public name', () => 'http://cdn.example/a.png'],
    ['another port of the channel', () => `http://127.0.0.1:${sentinel.port}/same-host.png`],
    ['a file on our own disk', () => 'file:///etc/passwd'],
    ['a name with a password', () => `https://user:word@127.0.0.1:${sentinel.port}/`],
  ])('is refused without a connection: %s', async (_what, url) => {
    expect(await copy(url())).toMatchObject({ kind: 'failed', code: 'upstream_invalid_response' });
    await expectNothingKept();
  });

  it('asks the channel’s own origin with the channel’s credential, and follows one redirect from there', async () => {
    const asked: [path: string, key: unknown][] = [];
    serve = (request, response) => {
      asked.push([request.url ?? '', request.headers['x-goog-api-key']]);
      if (request.url === '/v1/a:download') return response.writeHead(302, { location: '/stored/a.png' }).end();
      return response.end(png);
    };
    expect(await copy(`${channel.url}/v1/a:download`)).toMatchObject({ kind: 'copied' });
    expect(asked).toEqual([
      ['/v1/a:download', 'the-key'],
      ['/stored/a.png', 'the-key'],
    ]);
  });

  it('follows no second redirect', async () => {
    let looks = 0;
    serve = (_request, response) => {
      looks += 1;
      response.writeHead(302, { location: `/a-${looks}.png` }).end();
    };
    expect(await copy(`${channel.url}/a.png`)).toMatchObject({ kind: 'failed', code: 'upstream_invalid_response' });
    expect(looks).toBe(2);
    await expectNothingKept();
  });

  it('takes the credential nowhere else: not to another origin, and not along a redirect to one', async () => {
    const keys: unknown[] = [];
    const elsewhere = await listen((request, response) => {
      keys.push(request.headers['x-goog-api-key']);
      response.end(png);
    });
    try {
      serve = (_request, response) => response.writeHead(302, { location: `${elsewhere.url}/a.png` }).end();
      // On a machine that lets loopback be reached at all.
      expect(await copy(`${channel.url}/a.png`, 'image', 20_000, ['127.0.0.0/8'])).toMatchObject({ kind: 'copied' });
      expect(await copy(`${elsewhere.url}/a.png`, 'image', 20_000, ['127.0.0.0/8'])).toMatchObject({ kind: 'copied' });
      expect(keys).toEqual([undefined, undefined]);
    } finally {
      await elsewhere.close();
    }
  });

  it('follows no redirect to where nobody may go, also not from the channel itself', async () => {
    serve = (_request, response) => response.writeHead(302, { location: `${sentinel.url}/a.png` }).end();
    expect(await copy(`${channel.url}/a.png`)).toMatchObject({ kind: 'failed', code: 'upstream_invalid_response' });
    await expectNothingKept();
  });

  it('waits a little for one that is not there yet, then fails as an invalid response', async () => {
    let looks = 0;
    serve = (_request, response) => {
      looks += 1;
      response.writeHead(404).end();
    };
    expect(await copy(`${channel.url}/a.png`)).toMatchObject({ kind: 'failed', code: 'upstream_invalid_response' });
    expect(looks).toBe(5);
    await expectNothingKept();
  });

  it('takes one that is there at the second look', async () => {
    let looks = 0;
    serve = (_request, response) => (++looks === 1 ? response.writeHead(404).end() : response.end(png));
    expect(await copy(`${channel.url}/a.png`)).toMatchObject({ kind: 'copied' });
  });

  it('breaks off one that is larger than allowed', async () => {
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
    ['nothing', Buffer.alloc(0)],
    ['JSON', Buffer.from('{"error":"expired"}')],
  ])('refuses one that is %s and calls itself a picture', async (_what, bytes) => {
    serve = (_request, response) => response.writeHead(200, { 'content-type': 'image/png' }).end(bytes);
    expect(await copy(`${channel.url}/a.png`)).toMatchObject({ kind: 'failed', code: 'upstream_invalid_response' });
    await expectNothingKept();
  });

  it('refuses a picture where a video was asked for', async () => {
    serve = (_request, response) => response.end(png);
    expect(await copy(`${channel.url}/a.png`, 'video')).toMatchObject({
      kind: 'failed',
      code: 'upstream_invalid_response',
    });
    await expectNothingKept();
  });

  it('tries one that breaks off again until the deadline, then fails as output_unavailable', async () => {
    let looks = 0;
    serve = (_request, response) => {
      looks += 1;
      response
        .writeHead(200, { 'content-length': png.length })
        .write(png.subarray(0, png.length / 2), () => response.destroy());
    };
    expect(await copy(`${channel.url}/a.png`, 'image', () => (looks < 2 ? 20_000 : 0))).toMatchObject({
      kind: 'failed',
      code: 'output_unavailable',
    });
    expect(looks).toBeGreaterThan(1);
    await expectNothingKept();
  });

  it('tries a server in trouble again, and takes what comes then', async () => {
    let looks = 0;
    serve = (_request, response) => (++looks === 1 ? response.writeHead(503).end() : response.end(png));
    expect(await copy(`${channel.url}/a.png`)).toMatchObject({ kind: 'copied' });
    expect(looks).toBe(2);
  });

  it.each([
    ['that came with the submit, and can be had only once', () => `data:image/png;base64,${png.toString('base64')}`],
    ['that lies elsewhere', () => `${channel.url}/a.png`],
  ])('tries again when our own store is in trouble, for a result %s', async (_what, url) => {
    serve = (_request, response) => response.end(png);
    let troubles = 0;
    const away = () => (++troubles <= 2 ? Promise.reject(new Error('the bucket is away')) : undefined);
    const troubled: FileStore = { ...files, put: (...given) => away() ?? files.put(...given) };
    expect(await copyAs(await accepted(), newId('att'), { url: url(), files: troubled })).toMatchObject({
      kind: 'copied',
    });
    expect(troubles).toBe(3);
    expect(stored()).toHaveLength(1);
  });

  it('ends with the task’s time, not before, while our own store is away', async () => {
    let tries = 0;
    const away: FileStore = {
      ...files,
      put: () => {
        tries += 1;
        return Promise.reject(new Error('the bucket is away'));
      },
    };
    const url = `data:image/png;base64,${png.toString('base64')}`;
    const forMs = () => (tries < 2 ? 20_000 : 0);
    const report = await copyAs(await accepted(), newId('att'), { url, files: away, forMs });
    expect(report).toMatchObject({ kind: 'failed', code: 'output_unavailable' });
    expect(tries).toBe(2);
    await expectNothingKept();
  });
});

describe('two holders of one attempt', () => {
  it('share no file: what the first has stored stays as it was, whatever the late one gets', async () => {
    const task = await accepted();
    serve = (_request, response) => response.end(png);
    const report = await copyAs(task, newId('att'), { url: `${channel.url}/a.png` });
    const [kept] = await filesOf(task);
    expect(report).toMatchObject({ kind: 'copied', outputs: [{ sha256: kept?.sha256 }] });

    // The provider's link has died meanwhile, or shows another picture.
    const other = await picture({ width: 64, height: 48, seed: 2 });
    serve = (request, response) => response.end(request.url === '/other.png' ? other : '<!doctype html>');
    expect(await copyAs(task, newId('att'), { url: `${channel.url}/a.png` })).toMatchObject({ kind: 'failed' });
    expect(await filesOf(task)).toEqual([kept]);
    expect(await copyAs(task, newId('att'), { url: `${channel.url}/other.png` })).toMatchObject({ kind: 'copied' });
    expect(await filesOf(task)).toHaveLength(2);
    expect((await buffer(await files.open(kept?.storage_key ?? ''))).equals(png)).toBe(true);
  });

  it('leave nothing that retention would not find, also where one dies with its bytes stored', async () => {
    const task = await accepted();
    serve = (_request, response) => response.end(png);
    let isDead = false;
    const forMs = () => {
      if (isDead) throw new Error('as if it had died here');
      return 20_000;
    };
    const dying: FileStore = {
      ...files,
      async put(...given) {
        await files.put(...given);
        isDead = true;
        throw new Error('nobody hears this');
      },
    };
    const copying = copyAs(task, newId('att'), { url: `${channel.url}/a.png`, files: dying, forMs });
    await expect(copying).rejects.toThrow('as if');
    const [left] = await filesOf(task);
    expect(left).toMatchObject({ expires: true });
    expect(await files.exists(left?.storage_key ?? '')).toBe(true);
  });
});

const config = loadConfig({
  DATABASE_URL: 'postgresql://127.0.0.1/none',
  KEY_PEPPERS: `p1:${Buffer.alloc(32, 1).toString('base64')}`,
  MASTER_KEYS: `m1:${Buffer.alloc(32, 2).toString('base64')}`,
  OUTPUT_IMAGE_MAX_BYTES: '200000',
});
const png = await picture({ width: 64, height: 48, seed: 1 });

async function copy(
  url: string,
  type: TaskType = 'image',
  /** How long it may take from now on, or what is left of that whenever it is asked. */
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

/** What the holder of `fence` does. */
function copyAs(
  { taskId, projectId }: Accepted,
  fence: string,
  asked: { url: string; type?: TaskType; forMs?: number | (() => number); allowCidrs?: string[]; files?: FileStore },
): Promise<CopyReport> {
  const { forMs = 20_000 } = asked;
  const begunAt = performance.now();
  // As strict as in production where a test says nothing else: only the channel's own origin is trusted.
  const egress = createEgress({ allowCidrs: asked.allowCidrs ?? [], callbackPorts: [] });
  return copyOutputs(
    { config, db, files: asked.files ?? files, egress, logger: pino({ level: 'silent' }) },
    {
      attemptId: `att_${taskId}`,
      fence,
      projectId,
      taskId,
      type: asked.type ?? 'image',
      results: [{ url: asked.url }],
      channelBaseUrl: `${channel.url}/some/path`,
      channelHeaders: { 'x-goog-api-key': 'the-key' },
      remainingMs: () => (typeof forMs === 'number' ? begunAt + forMs - performance.now() : forMs()),
      signal: new AbortController().signal,
    },
  );
}

const filesOf = ({ taskId }: Accepted): Promise<{ storage_key: string; sha256: string; expires: boolean }[]> =>
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
