import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { s3Place } from '../../../src/platform/files/file-place-s3.ts';
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

  it('keeps nothing but the object, with its type, in the bucket', async () => {
    await store.put(KEY, hello, options);
    expect(s3.objects.get(KEY)).toMatchObject({ bytes: hello, contentType: 'image/png' });
    expect(s3.asked).toEqual([`PUT ${KEY}`]);
    expect(await filesBelow(directory)).toEqual([]);
  });

  it('looks once for size and existence', async () => {
    await store.put(KEY, hello, options);
    s3.asked.length = 0;
    expect(await store.stat(KEY)).toEqual({ bytes: hello.length });
    expect(s3.asked).toEqual([`HEAD ${KEY}`]);
  });

  it.each([
    ['another key', { s3AccessKeyId: 'AKIASOMEBODYELSE' }, 'InvalidAccessKeyId'],
    ['another secret', { s3SecretAccessKey: 'guessed' }, 'SignatureDoesNotMatch'],
  ])('can do nothing by %s, and does not try again', async (_what, wrong, code) => {
    const stranger = await createFileStore({ ...s3.settings, ...wrong, localDir: directory });
    await expect(stranger.put(KEY, hello, options)).rejects.toThrow();
    await expectNothingKept();
    expect(s3.asked).toHaveLength(1);
    await store.put(KEY, hello, options);
    await expect(stranger.open(KEY)).rejects.toMatchObject({ name: code });
    await expect(stranger.exists(KEY)).rejects.toThrow();
    await expect(stranger.delete(KEY)).rejects.toThrow();
    expect(await store.exists(KEY)).toBe(true);
  });

  it.each<[string, S3Answer]>([
    ['is too busy', tooBusy],
    ['has failed', broken],
    ['hangs up', hangUp],
  ])('tries again, whatever it was to do, when the store %s', async (_how, answer) => {
    s3.next(answer);
    await store.put(KEY, inPieces(Buffer.alloc(500_000)), options);
    expect(s3.objects.get(KEY)?.bytes).toEqual(Buffer.alloc(500_000));
    s3.next(answer);
    expect(await text(await store.open(KEY, { start: 0, end: 3 }))).toBe('\0\0\0\0');
    s3.next(answer);
    expect(await store.stat(KEY)).toEqual({ bytes: 500_000 });
    s3.next(answer);
    await store.delete(KEY);
    expect(s3.objects.size).toBe(0);
    expect(s3.asked.map((line) => line.split(' ')[0])).toEqual(
      ['PUT', 'GET', 'HEAD', 'DELETE'].flatMap((method) => [method, method]),
    );
  });

  it('gives a put up after the third try, and keeps nothing of it here or there', async () => {
    const printed = jest.spyOn(console, 'warn').mockImplementation(() => undefined);
    s3.next(tooBusy, broken, tooBusy);
    await expect(store.put(KEY, inPieces(Buffer.alloc(500_000)), options)).rejects.toThrow();
    expect(s3.asked).toHaveLength(3);
    await expectNothingKept();
    // Where the log is JSON lines, a library's own words on the console are noise.
    expect(printed).not.toHaveBeenCalled();
    printed.mockRestore();
  });

  it('never takes a store that is away for a file that is missing, and leaves no half of a put behind', async () => {
    await store.put(KEY, hello, options);
    await s3.close();
    await expect(store.put('outputs/file_02.png', inPieces(Buffer.alloc(500_000)), options)).rejects.toThrow();
    expect(await filesBelow(directory)).toEqual([]);
    await expect(store.open(KEY)).rejects.not.toBeInstanceOf(FileMissingError);
    await expect(store.exists(KEY)).rejects.toThrow();
    await expect(store.stat(KEY)).rejects.toThrow();
    await expect(store.delete(KEY)).rejects.toThrow();
  });

  it('never takes a bucket that is missing for a file that is missing', async () => {
    const lost = await createFileStore({ ...s3.settings, s3Bucket: 'gone', localDir: directory });
    await expect(lost.open(KEY)).rejects.toMatchObject({ name: 'NoSuchBucket' });
    await expect(lost.put(KEY, hello, options)).rejects.toThrow();
    await expectNothingKept();
  });

  it('ends an upload at once when the put is aborted', async () => {
    const arrived = Promise.withResolvers<IncomingMessage>();
    s3.next((request) => arrived.resolve(request));
    const controller = new AbortController();
    const put = store.put(KEY, Buffer.alloc(500_000), { ...options, signal: controller.signal });
    const request = await arrived.promise;
    controller.abort(new Error('nobody wants it any more'));
    await expect(put).rejects.toThrow('nobody wants it any more');
    request.resume();
    await eventually(() => Promise.resolve(request.destroyed), { what: 'the end of the upload' });
    expect(request.complete).toBe(false);
    await expectNothingKept();
    expect(s3.asked).toHaveLength(1);
  });

  it('fails a put whose spooled copy cannot be read, and waits for nothing', async () => {
    const gone = join(directory, 'gone');
    const publish = s3Place(s3.settings).publish(gone, KEY, { contentType: 'text/plain', bytes: 5 });
    await expect(publish).rejects.toThrow();
    await expectNothingKept();
  });

  it('does not wait for ever for a store that says nothing', async () => {
    const place = s3Place(s3.settings, { answerMs: 200, silenceMs: 200 });
    const spool = join(directory, 'spool');
    await writeFile(spool, hello);
    s3.next(...Array.from({ length: 9 }, () => silent));
    await expect(place.open(KEY, undefined)).rejects.toThrow(/200 ms/);
    await expect(place.disk.exists(KEY)).rejects.toThrow();
    const about = { contentType: 'text/plain', bytes: hello.length };
    await expect(place.publish(spool, KEY, about)).rejects.toThrow(/200 ms/);
  });

  it('does not wait for ever for the rest of a file', async () => {
    const stalled: S3Answer = (_request, response) =>
      void response.writeHead(200, { 'content-length': 100 }).write('and then nothing');
    s3.next(stalled, stalled, stalled);
    const place = s3Place(s3.settings, { answerMs: 10_000, silenceMs: 300 });
    await expect(place.open(KEY, undefined).then(text)).rejects.toThrow(/300 ms of inactivity/);
  });

  it('hangs up on a store that refuses an upload before it has all of it', async () => {
    const arrived = Promise.withResolvers<IncomingMessage>();
    s3.next((request, response) => {
      arrived.resolve(request);
      response.writeHead(403).end();
    });
    const large = Buffer.alloc(1_900_000);
    await expect(store.put(KEY, large, { ...options, maxBytes: large.length })).rejects.toThrow();
    const { socket } = await arrived.promise;
    await eventually(() => Promise.resolve(socket.destroyed), { secondsMax: 3, what: 'the end of the connection' });
    await expectNothingKept();
  });

  it('says of a read that breaks off that it did, and never hands out a short file for a whole one', async () => {
    s3.next((_request, response) => {
      response.writeHead(200, { 'content-length': 100 }).write('only this');
      setTimeout(() => response.destroy(), 50);
    });
    const stream = await store.open(KEY);
    await expect(text(stream)).rejects.toThrow();
  });

  it('hands out no other bytes than the range that was asked for', async () => {
    s3.next((_request, response) => response.end('the whole, for this store knows no ranges'));
    await expect(store.open(KEY, { start: 4, end: 8 })).rejects.toThrow();
  });

  it('takes the 404 of some stores to a second delete for what it says', async () => {
    s3.next(s3Error(404, 'NoSuchKey'));
    await store.delete(KEY);
  });

  it('serves on while many readers are slow', async () => {
    await store.put(KEY, randomBytes(900_000), options);
    const slow = await Promise.all(Array.from({ length: 80 }, () => store.open(KEY)));
    expect(await store.exists(KEY)).toBe(true);
    for (const stream of slow) stream.destroy();
  });

  it('sends and reads a large file piece by piece, no faster than the other side takes it', async () => {
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

/** Says how many more bytes of buffers are alive than now, garbage aside. */
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
