import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { s3Backend } from '../../../src/platform/files/file-backend-s3.ts';
import { createFileStore, FileMissingError, type FileStore } from '../../../src/platform/files/file-store.ts';
import { eventually } from '../../support/eventually.ts';
import { filesBelow } from '../../support/files-below.ts';
import { s3Error, startS3Server, type S3Answer, type S3Server } from '../../support/s3-server.ts';
import { describeFileStore, inPieces, KEY, options } from './file-store-suite.ts';

describeFileStore('s3', async () => {
  const server = await startS3Server();
  return { settings: server.settings, keys: () => [...server.objects.keys()], close: () => server.close() };
});

let s3: S3Server;
let directory: string;
let store: FileStore;

const expectNothingKept = async () => {
  expect([...s3.objects.keys()]).toEqual([]);
  expect(await filesBelow(directory)).toEqual([]);
};
const hello = Buffer.from('hello, bucket');
const tooBusy = s3Error(503, 'SlowDown');
const broken = s3Error(500, 'InternalError');
const hangUp: S3Answer = (request) => void request.socket.destroy();
const silent: S3Answer = (request) => void request.resume();

describe('the S3 driver', () => {
  beforeEach(async () => {
    s3 = await startS3Server();
    directory = await mkdtemp(join(tmpdir(), 'tollgate-files-'));
    store = await createFileStore({ ...s3.settings, localDir: directory });
  });
  afterEach(async () => {
    await s3.close();
    await rm(directory, { recursive: true, force: true });
  });

  it('stores only the object with its type in the bucket', async () => {
    await store.put(KEY, hello, options);
    expect(s3.objects.get(KEY)).toMatchObject({ bytes: hello, contentType: 'image/png' });
    expect(s3.requests).toEqual([`PUT ${KEY}`]);
    expect(await filesBelow(directory)).toEqual([]);
  });

  it('sends one request for size and existence', async () => {
    await store.put(KEY, hello, options);
    s3.requests.length = 0;
    expect(await store.stat(KEY)).toEqual({ bytes: hello.length });
    expect(s3.requests).toEqual([`HEAD ${KEY}`]);
  });

  it.each([
    ['another key', { s3AccessKeyId: 'AKIASOMEBODYELSE' }, 'InvalidAccessKeyId'],
    ['another secret', { s3SecretAccessKey: 'guessed' }, 'SignatureDoesNotMatch'],
  ])('fails with %s and does not retry', async (_what, wrong, code) => {
    const refusedStore = await createFileStore({ ...s3.settings, ...wrong, localDir: directory });
    await expect(refusedStore.put(KEY, hello, options)).rejects.toThrow();
    await expectNothingKept();
    expect(s3.requests).toHaveLength(1);
    await store.put(KEY, hello, options);
    await expect(refusedStore.open(KEY)).rejects.toMatchObject({ name: code });
    await expect(refusedStore.exists(KEY)).rejects.toThrow();
    await expect(refusedStore.delete(KEY)).rejects.toThrow();
    expect(await store.exists(KEY)).toBe(true);
  });

  it.each<[string, S3Answer]>([
    ['is too busy', tooBusy],
    ['has failed', broken],
    ['hangs up', hangUp],
  ])('retries every operation if the store %s', async (_how, answer) => {
    s3.next(answer);
    await store.put(KEY, inPieces(Buffer.alloc(500_000)), options);
    expect(s3.objects.get(KEY)?.bytes.equals(Buffer.alloc(500_000))).toBe(true);
    s3.next(answer);
    expect(await text(await store.open(KEY, { start: 0, end: 3 }))).toBe('\0\0\0\0');
    s3.next(answer);
    expect(await store.stat(KEY)).toEqual({ bytes: 500_000 });
    s3.next(answer);
    await store.delete(KEY);
    expect(s3.objects.size).toBe(0);
    expect(s3.requests.map((line) => line.split(' ')[0])).toEqual(
      ['PUT', 'GET', 'HEAD', 'DELETE'].flatMap((method) => [method, method]),
    );
  });

  it('gives up a put after the third try and keeps nothing, locally or in the bucket', async () => {
    const printed = jest.spyOn(console, 'warn').mockImplementation(() => undefined);
    s3.next(tooBusy, broken, tooBusy);
    await expect(store.put(KEY, inPieces(Buffer.alloc(500_000)), options)).rejects.toThrow();
    expect(s3.requests).toHaveLength(3);
    await expectNothingKept();
    // The log consists of JSON lines, so a library must not write to the console.
    expect(printed).not.toHaveBeenCalled();
    printed.mockRestore();
  });

  it('does not report a file as missing if the store is down, and leaves no part of a put', async () => {
    await store.put(KEY, hello, options);
    await s3.close();
    await expect(store.put('outputs/file_02.png', inPieces(Buffer.alloc(500_000)), options)).rejects.toThrow();
    expect(await filesBelow(directory)).toEqual([]);
    await expect(store.open(KEY)).rejects.not.toBeInstanceOf(FileMissingError);
    await expect(store.exists(KEY)).rejects.toThrow();
    await expect(store.stat(KEY)).rejects.toThrow();
    await expect(store.delete(KEY)).rejects.toThrow();
  });

  it('does not report a file as missing if the bucket is missing', async () => {
    const lost = await createFileStore({ ...s3.settings, s3Bucket: 'gone', localDir: directory });
    await expect(lost.open(KEY)).rejects.toMatchObject({ name: 'NoSuchBucket' });
    await expect(lost.put(KEY, hello, options)).rejects.toThrow();
    await expectNothingKept();
  });

  it('ends an upload immediately if the put is aborted', async () => {
    const arrived = Promise.withResolvers<IncomingMessage>();
    s3.next((request) => arrived.resolve(request));
    const controller = new AbortController();
    const put = store.put(KEY, Buffer.alloc(500_000), { ...options, signal: controller.signal });
    const request = await arrived.promise;
    controller.abort(new Error('no longer needed'));
    await expect(put).rejects.toThrow('no longer needed');
    request.resume();
    await eventually(() => Promise.resolve(request.destroyed), { what: 'the end of the upload' });
    expect(request.complete).toBe(false);
    await expectNothingKept();
    expect(s3.requests).toHaveLength(1);
  });

  it('fails a put immediately if its local copy cannot be read', async () => {
    const gone = join(directory, 'gone');
    const publish = s3Backend(s3.settings).publish(gone, KEY, { contentType: 'text/plain', bytes: 5 });
    await expect(publish).rejects.toThrow();
    await expectNothingKept();
  });

  it('does not wait forever for a store that does not answer', async () => {
    const backend = s3Backend(s3.settings, { answerMs: 200, silenceMs: 200 });
    const spool = join(directory, 'spool');
    await writeFile(spool, hello);
    s3.next(...Array.from({ length: 9 }, () => silent));
    await expect(backend.open(KEY, undefined)).rejects.toThrow(/200 ms/);
    await expect(backend.disk.exists(KEY)).rejects.toThrow();
    const about = { contentType: 'text/plain', bytes: hello.length };
    await expect(backend.publish(spool, KEY, about)).rejects.toThrow(/200 ms/);
  });

  it('does not wait forever for the rest of a file', async () => {
    const stalled: S3Answer = (_request, response) =>
      void response.writeHead(200, { 'content-length': 100 }).write('and then nothing');
    s3.next(stalled, stalled, stalled);
    const backend = s3Backend(s3.settings, { answerMs: 10_000, silenceMs: 300 });
    await expect(backend.open(KEY, undefined).then(text)).rejects.toThrow(/300 ms of inactivity/);
  });

  it('closes the connection if the store refuses an upload before its end', async () => {
    const arrived = Promise.withResolvers<IncomingMessage>();
    s3.next((request, response) => {
      arrived.resolve(request);
      response.writeHead(403).end();
    });
    const large = Buffer.alloc(1_900_000);
    await expect(store.put(KEY, large, { ...options, maxBytes: large.length })).rejects.toThrow();
    const { socket } = await arrived.promise;
    await eventually(() => Promise.resolve(socket.destroyed), { what: 'the end of the connection' });
    await expectNothingKept();
  });

  it('fails a read that breaks off, and never returns a short file as a whole one', async () => {
    s3.next((_request, response) => {
      response.writeHead(200, { 'content-length': 100 }).write('only this');
      setTimeout(() => response.destroy(), 50);
    });
    const stream = await store.open(KEY);
    await expect(text(stream)).rejects.toThrow();
  });

  it('fails if the store does not return the requested range', async () => {
    s3.next((_request, response) => response.end('the whole file, because this store ignores ranges'));
    await expect(store.open(KEY, { start: 4, end: 8 })).rejects.toThrow();
  });

  it('accepts the 404 that some stores return for a repeated delete', async () => {
    s3.next(s3Error(404, 'NoSuchKey'));
    await store.delete(KEY);
  });

  it('serves other requests while many readers are slow', async () => {
    await store.put(KEY, randomBytes(900_000), options);
    const slow = await Promise.all(Array.from({ length: 80 }, () => store.open(KEY)));
    expect(await store.exists(KEY)).toBe(true);
    for (const stream of slow) stream.destroy();
  });

  it('sends and reads a large file in pieces, no faster than the receiver reads it', async () => {
    const size = 20_000_000;
    const held = heldBytes();
    const arrived = Promise.withResolvers<IncomingMessage>();
    let taken = 0;
    s3.next((request, response) => {
      arrived.resolve(request);
      request.on('end', () => response.end());
    });
    const piece = Buffer.alloc(1_000_000);
    const source = (function* () {
      for (let at = 0; at < size; at += piece.length) yield piece;
    })();
    const put = store.put(KEY, toAsync(source), { ...options, maxBytes: size });
    const request = await arrived.promise;
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(held()).toBeLessThan(size / 2);
    for await (const chunk of request) taken += (chunk as Buffer).length;
    expect(await put).toMatchObject({ bytes: size });
    expect(taken).toBe(size);

    const large = Buffer.alloc(size);
    s3.next((_request, response) => {
      response.writeHead(200, { 'content-length': size });
      response.end(large);
    });
    const heldHere = heldBytes();
    const stream = await store.open(KEY);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(heldHere()).toBeLessThan(size / 2);
    let read = 0;
    for await (const chunk of stream) read += (chunk as Buffer).length;
    expect(read).toBe(size);
  });
});

/** Returns a function that counts the bytes of live buffers beyond the present ones. */
function heldBytes(): () => number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  const before = process.memoryUsage().arrayBuffers;
  return () => {
    collect();
    return process.memoryUsage().arrayBuffers - before;
  };
}

// eslint-disable-next-line @typescript-eslint/require-await -- a source is asynchronous by its type
async function* toAsync(pieces: Iterable<Buffer>): AsyncGenerator<Buffer> {
  yield* pieces;
}
