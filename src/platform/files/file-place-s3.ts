import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { GetObjectCommand, NoSuchKey, PutObjectCommand, S3Client, S3ServiceException } from '@aws-sdk/client-s3';
import { Disk } from 'flydrive';
import { S3Driver } from 'flydrive/drivers/s3';
import { FileMissingError, type FilePlace, type PublishOptions } from './file-place.ts';
import { pause } from '../pause.ts';

export interface S3Settings {
  FILES_S3_BUCKET: string;
  FILES_S3_REGION: string;
  /** Empty for AWS itself. */
  FILES_S3_ENDPOINT: string;
  FILES_S3_ACCESS_KEY_ID: string;
  FILES_S3_SECRET_ACCESS_KEY: string;
}

/** How long the store is waited for. Every call is tried three times. */
export interface S3Patience {
  /** For the beginning of an answer to anything but an upload, which takes as long as its file is large. */
  answerMs: number;
  /** While no byte moves, in either direction. A reader that stands still for so long is cut off too. */
  silenceMs: number;
}

/** Clients wait behind the first; the second is short of where balancers drop a connection without a word. */
const PATIENCE: S3Patience = { answerMs: 10_000, silenceMs: 120_000 };
const TRIES_MAX = 3;

/** Files in an S3-compatible bucket. */
export function s3Place(settings: S3Settings, patience = PATIENCE): FilePlace {
  const Bucket = settings.FILES_S3_BUCKET;
  const client = new S3Client({
    region: settings.FILES_S3_REGION || 'auto',
    ...(settings.FILES_S3_ENDPOINT === '' ? {} : { endpoint: settings.FILES_S3_ENDPOINT, forcePathStyle: true }),
    credentials: {
      accessKeyId: settings.FILES_S3_ACCESS_KEY_ID,
      secretAccessKey: settings.FILES_S3_SECRET_ACCESS_KEY,
    },
    // The newer checksums are not understood everywhere; plain bodies with a length are.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts: TRIES_MAX,
    requestHandler: {
      connectionTimeout: 5_000,
      requestTimeout: patience.answerMs,
      // Without it the client only prints a warning and waits on.
      throwOnRequestTimeout: true,
      socketTimeout: patience.silenceMs,
      // A slow reader holds its connection as long as it reads; who may read at a time is counted elsewhere.
      httpAgent: { maxSockets: Infinity },
      httpsAgent: { maxSockets: Infinity },
    },
    // Errors are thrown to whoever asked. The client's own words would go to the console.
    logger: silent,
  });
  // Many S3-compatible services refuse ACL headers, and we want none.
  const disk = new Disk(new S3Driver({ client, bucket: Bucket, visibility: 'private', supportsACL: false }));

  /** With its length known the upload is one request, and S3 shows an object only when it is whole. */
  const upload = async (spool: string, Key: string, { contentType, bytes, signal }: PublishOptions): Promise<void> => {
    const body = createReadStream(spool);
    // The client leaves the request open when its body breaks, and when the store refuses it before all of it is there.
    const hangUp = new AbortController();
    body.once('error', (error) => hangUp.abort(error));
    try {
      await client.send(
        new PutObjectCommand({ Bucket, Key, Body: body, ContentLength: bytes, ContentType: contentType }),
        { abortSignal: AbortSignal.any([hangUp.signal, ...(signal ? [signal] : [])]), requestTimeout: 0 },
      );
    } catch (error) {
      hangUp.abort();
      throw error;
    } finally {
      body.destroy();
    }
  };

  return {
    disk,
    async publish(spool, key, options) {
      const { signal } = options;
      // The client itself never sends a stream again. Ours begins anew from the disk.
      for (let tries = 1; ; tries += 1) {
        try {
          await upload(spool, key, options);
          break;
        } catch (error) {
          signal?.throwIfAborted();
          if (tries === TRIES_MAX || !mayPass(error)) throw error;
        }
        await pause(tries * 200 * (1 + Math.random()), signal);
      }
      await rm(spool, { force: true });
    },
    async open(key, range) {
      const Range = range && `bytes=${range.start}-${range.end}`;
      const { Body, ContentRange } = await client
        .send(new GetObjectCommand({ Bucket, Key: key, Range }))
        .catch((error: unknown) => {
          if (error instanceof NoSuchKey) throw new FileMissingError(`no stored file ${key}`, { cause: error });
          throw error;
        });
      if (!(Body instanceof Readable)) throw new Error('the store answered without a body');
      if (range && ContentRange === undefined) {
        Body.destroy();
        throw new Error('the store does not serve ranges');
      }
      return Body;
    },
  };
}

/** Worth another try: no answer, or one that says that it is not for the request's sake. */
const mayPass = (error: unknown): boolean => {
  const status = error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined;
  return status === undefined || status >= 500 || status === 408 || status === 429;
};

const noop = (): void => undefined;
const silent = { trace: noop, debug: noop, info: noop, warn: noop, error: noop };
