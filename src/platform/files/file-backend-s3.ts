import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { GetObjectCommand, NoSuchKey, PutObjectCommand, S3Client, S3ServiceException } from '@aws-sdk/client-s3';
import { Disk } from 'flydrive';
import { S3Driver } from 'flydrive/drivers/s3';
import { FileMissingError, type FileBackend, type PublishOptions } from './file-backend.ts';
import { pause } from '../pause.ts';

export interface S3Settings {
  s3Bucket: string;
  s3Region: string;
  /** Empty for AWS itself. */
  s3Endpoint: string;
  s3AccessKeyId: string;
  s3SecretAccessKey: string;
}

/** Timeouts of the store. Every call is tried three times. */
export interface S3Patience {
  /** The time to the first byte of an answer, except for uploads, whose duration depends on their size. */
  answerMs: number;
  /** The time without a byte in either direction. It also ends a reader that has stalled. */
  silenceMs: number;
}

/** A client waits during `answerMs`. `silenceMs` is shorter than the idle timeout at which load balancers drop connections. */
const patienceDefault: S3Patience = { answerMs: 10_000, silenceMs: 120_000 };
const triesMax = 3;

/** Files in an S3-compatible bucket. */
export function s3Backend(settings: S3Settings, patience = patienceDefault): FileBackend {
  const Bucket = settings.s3Bucket;
  const client = clientFor(settings, patience);
  // Many S3-compatible services refuse ACL headers, and Tollgate needs none.
  const disk = new Disk(new S3Driver({ client, bucket: Bucket, visibility: 'private', supportsACL: false }));

  return {
    disk,
    async publish(spool, key, options) {
      const { signal } = options;
      // The SDK cannot resend a stream. This retry reads the file from the disk again.
      for (let tries = 1; ; tries += 1) {
        try {
          await upload(client, { Bucket, Key: key }, spool, options);
          break;
        } catch (error) {
          signal?.throwIfAborted();
          if (tries === triesMax || !isTransient(error)) throw error;
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

/** Uploads a file in one request, for which its length must be known. S3 shows an object only when it is complete. */
async function upload(
  client: S3Client,
  object: { Bucket: string; Key: string },
  spool: string,
  { contentType, bytes, signal }: PublishOptions,
): Promise<void> {
  const body = createReadStream(spool);
  // The SDK leaves the request open if its body fails, and if the store refuses it early.
  const hangUp = new AbortController();
  body.once('error', (error) => hangUp.abort(error));
  try {
    await client.send(new PutObjectCommand({ ...object, Body: body, ContentLength: bytes, ContentType: contentType }), {
      abortSignal: AbortSignal.any([hangUp.signal, ...(signal ? [signal] : [])]),
      requestTimeout: 0,
    });
  } catch (error) {
    hangUp.abort();
    throw error;
  } finally {
    body.destroy();
  }
}

const clientFor = (settings: S3Settings, patience: S3Patience): S3Client =>
  new S3Client({
    region: settings.s3Region || 'auto',
    ...(settings.s3Endpoint === '' ? {} : { endpoint: settings.s3Endpoint, forcePathStyle: true }),
    credentials: {
      accessKeyId: settings.s3AccessKeyId,
      secretAccessKey: settings.s3SecretAccessKey,
    },
    // Not every service supports the newer checksums. Every service supports plain bodies with a length.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts: triesMax,
    requestHandler: {
      connectionTimeout: 5_000,
      requestTimeout: patience.answerMs,
      // Without this the SDK only prints a warning and keeps waiting.
      throwOnRequestTimeout: true,
      socketTimeout: patience.silenceMs,
      // A slow reader keeps its connection. src/http limits the number of readers.
      httpAgent: { maxSockets: Infinity },
      httpsAgent: { maxSockets: Infinity },
    },
    // Errors are thrown to the caller. The SDK's own logger would print them to the console.
    logger: silent,
  });

/** Whether a retry may help: there was no answer, or the answer does not blame the request. */
const isTransient = (error: unknown): boolean => {
  const status = error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined;
  return status === undefined || status >= 500 || status === 408 || status === 429;
};

const noop = (): void => undefined;
const silent = { trace: noop, debug: noop, info: noop, warn: noop, error: noop };
