import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { Disk } from 'flydrive';
import { type ByteRange, FileMissingError, type FilePlace } from './file-place.ts';

export interface S3Settings {
  FILES_S3_BUCKET: string;
  FILES_S3_REGION: string;
  /** Empty for AWS itself. */
  FILES_S3_ENDPOINT: string;
  FILES_S3_ACCESS_KEY_ID: string;
  FILES_S3_SECRET_ACCESS_KEY: string;
}

/**
 * Files in an S3-compatible bucket. The AWS packages are optional peers of flydrive and loaded here only; throws with a
 * plain sentence when they are not installed.
 */
export async function s3Place(settings: S3Settings): Promise<FilePlace> {
  const { S3Driver } = await import('flydrive/drivers/s3').catch((cause: unknown) => {
    throw new Error(
      'FILES_DRIVER=s3 needs the packages @aws-sdk/client-s3 and @aws-sdk/s3-request-presigner to be installed',
      { cause },
    );
  });

  /** flydrive reads whole objects only; its get command may be overridden, and that is where a range fits. */
  class RangedS3Driver extends S3Driver {
    #range: ByteRange | undefined;

    openRange(key: string, range: ByteRange | undefined): Promise<Readable> {
      this.#range = range;
      try {
        // The command is made before the first await in getStream, so calls at the same time never see each other's range.
        return this.getStream(key);
      } finally {
        this.#range = undefined;
      }
    }

    protected override createGetObjectCommand(client: never, input: GetInput) {
      const range = this.#range ? { Range: `bytes=${this.#range.start}-${this.#range.end}` } : {};
      // eslint-disable-next-line @typescript-eslint/no-unsafe-return -- typed only where the AWS packages are installed
      return super.createGetObjectCommand(client, { ...input, ...range });
    }
  }

  const driver = new RangedS3Driver({
    bucket: settings.FILES_S3_BUCKET,
    region: settings.FILES_S3_REGION || 'auto',
    ...(settings.FILES_S3_ENDPOINT === '' ? {} : { endpoint: settings.FILES_S3_ENDPOINT, forcePathStyle: true }),
    credentials: {
      accessKeyId: settings.FILES_S3_ACCESS_KEY_ID,
      secretAccessKey: settings.FILES_S3_SECRET_ACCESS_KEY,
    },
    visibility: 'private',
    // Many S3-compatible services refuse ACL headers, and we want none.
    supportsACL: false,
    // The newer checksum trailers are not understood everywhere; plain bodies with a length are.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    maxAttempts: 3,
    requestHandler: { connectionTimeout: 5_000, requestTimeout: 120_000 },
  });
  const disk = new Disk(driver);

  return {
    disk,
    spoolDirectory: join(tmpdir(), 'tollgate-spool'),
    // With its length known the upload is one request, and S3 shows an object only when it is whole.
    async publish(spool, key, { contentType, bytes }) {
      await disk.putStream(key, createReadStream(spool), { contentType, contentLength: bytes });
      await rm(spool, { force: true });
    },
    open: (key, range) =>
      driver.openRange(key, range).catch((error: unknown) => {
        if (error instanceof Error && error.name === 'NoSuchKey') {
          throw new FileMissingError(`no stored file ${key}`, { cause: error });
        }
        throw error;
      }),
  };
}

/** The part of the AWS client's own type that every get carries; the package itself may be absent. */
interface GetInput {
  Bucket: string | undefined;
  Key: string | undefined;
}
