import { createHash, createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { FileStoreSettings } from '../../src/platform/files/file-store.ts';

export interface S3Server {
  url: string;
  /** The settings of a file store that uses this server, except its local directory. */
  settings: Omit<FileStoreSettings, 'localDir'>;
  /** The same settings as environment variables. */
  env: Record<string, string>;
  /** The objects of the bucket, by key. */
  objects: Map<string, StoredObject>;
  /** Every received request, in order, such as `PUT outputs/file_01.png`. */
  requests: string[];
  /** Each of these functions answers one of the next requests instead of the bucket. */
  next(...answers: S3Answer[]): void;
  close(): Promise<void>;
}

export interface StoredObject {
  bytes: Buffer;
  contentType: string;
  modifiedAt: Date;
}

export type S3Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** Answers with an error in the format of S3. */
export const s3Error =
  (status: number, code: string): S3Answer =>
  (request, response) => {
    request.resume();
    const body = `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>${code}.</Message></Error>`;
    response.writeHead(status, { 'content-type': 'application/xml', 'content-length': Buffer.byteLength(body) });
    response.end(request.method === 'HEAD' ? undefined : body);
  };

/**
 * A small S3 server on loopback with one bucket in memory. It supports PUT, GET with a range, HEAD and DELETE by path-style URLs,
 * and checks the Signature Version 4 of every request. An object exists only after its whole body has arrived.
 */
export async function startS3Server(): Promise<S3Server> {
  const objects = new Map<string, StoredObject>();
  const requests: string[] = [];
  const waiting: S3Answer[] = [];
  const server = createServer((request, response) => {
    // Some tests break connections, which must not end the server.
    request.on('error', () => undefined);
    response.on('error', () => undefined);
    const [path = ''] = (request.url ?? '').split('?');
    const [, bucket, ...rest] = decodeURIComponent(path).split('/');
    const key = rest.join('/');
    requests.push(`${request.method} ${key}`);
    const refusal = signatureRefusal(request);
    const answer = waiting.shift();
    if (refusal !== null) return s3Error(403, refusal)(request, response);
    if (answer) return answer(request, response);
    if (bucket !== BUCKET) return s3Error(404, 'NoSuchBucket')(request, response);
    void serve(request, response, key);
  });

  const serve = async (request: IncomingMessage, response: ServerResponse, key: string): Promise<void> => {
    if (request.method === 'PUT') return store(request, response, key);
    request.resume();
    if (request.method === 'DELETE') {
      objects.delete(key);
      return void response.writeHead(204).end();
    }
    const object = objects.get(key);
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      return s3Error(405, 'MethodNotAllowed')(request, response);
    }
    if (!object) return s3Error(404, 'NoSuchKey')(request, response);
    send(request, response, object);
  };

  const store = async (request: IncomingMessage, response: ServerResponse, key: string): Promise<void> => {
    const length = request.headers['content-length'];
    if (length === undefined) return s3Error(411, 'MissingContentLength')(request, response);
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      return;
    }
    const bytes = Buffer.concat(chunks);
    const claimed = String(request.headers['x-amz-content-sha256']);
    if (bytes.length !== Number(length)) return s3Error(400, 'IncompleteBody')(request, response);
    if (/^[0-9a-f]{64}$/.test(claimed) && claimed !== sha256(bytes)) {
      return s3Error(400, 'XAmzContentSHA256Mismatch')(request, response);
    }
    objects.set(key, { bytes, contentType: String(request.headers['content-type']), modifiedAt: new Date() });
    response.writeHead(200, { etag: etagOf(bytes), 'content-length': 0 }).end();
  };

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const url = `http://127.0.0.1:${address !== null && typeof address === 'object' ? address.port : 0}`;
  return {
    url,
    ...settingsOf(url),
    objects,
    requests,
    next: (...answers) => void waiting.push(...answers),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Where it listens, as an adapter and as the gateway's environment have it. */
const settingsOf = (url: string): Pick<S3Server, 'settings' | 'env'> => ({
  settings: {
    driver: 's3',
    s3Bucket: BUCKET,
    s3Region: REGION,
    s3Endpoint: url,
    s3AccessKeyId: ACCESS_KEY_ID,
    s3SecretAccessKey: SECRET_ACCESS_KEY,
  },
  env: {
    FILES_DRIVER: 's3',
    FILES_S3_BUCKET: BUCKET,
    FILES_S3_REGION: REGION,
    FILES_S3_ENDPOINT: url,
    FILES_S3_ACCESS_KEY_ID: ACCESS_KEY_ID,
    FILES_S3_SECRET_ACCESS_KEY: SECRET_ACCESS_KEY,
  },
});

const BUCKET = 'tollgate-files';
const REGION = 'eu-test-1';
const ACCESS_KEY_ID = 'AKIATOLLGATETEST';
const SECRET_ACCESS_KEY = 'a-secret-that-only-the-tests-know';

function send(
  request: IncomingMessage,
  response: ServerResponse,
  { bytes, contentType, modifiedAt }: StoredObject,
): void {
  const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
  const start = Number(first ?? 0);
  const end = Math.min(Number(last ?? Infinity), bytes.length - 1);
  if (first !== undefined && start >= bytes.length) return s3Error(416, 'InvalidRange')(request, response);
  response.writeHead(first === undefined ? 200 : 206, {
    'accept-ranges': 'bytes',
    'content-type': contentType,
    'content-length': end - start + 1,
    etag: etagOf(bytes),
    'last-modified': modifiedAt.toUTCString(),
    ...(first !== undefined && { 'content-range': `bytes ${start}-${end}/${bytes.length}` }),
  });
  response.end(request.method === 'HEAD' ? undefined : bytes.subarray(start, end + 1));
}

const sha256 = (data: Buffer | string): string => createHash('sha256').update(data).digest('hex');
const etagOf = (bytes: Buffer): string => `"${createHash('md5').update(bytes).digest('hex')}"`;
const hmac = (key: Buffer | string, data: string): Buffer => createHmac('sha256', key).update(data).digest();

/** The error code for a request without a valid signature (AWS Signature Version 4 in headers), otherwise null. */
function signatureRefusal(request: IncomingMessage): string | null {
  const { authorization = '' } = request.headers;
  const parts =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})$/.exec(
      authorization,
    );
  if (!parts) return 'AccessDenied';
  const [, accessKeyId, day = '', region = '', names = '', signature] = parts;
  if (accessKeyId !== ACCESS_KEY_ID) return 'InvalidAccessKeyId';
  const header = (name: string): string => String(request.headers[name] ?? '').trim();
  const date = header('x-amz-date');
  if (region !== REGION || !date.startsWith(day) || !names.split(';').includes('host')) return 'AccessDenied';

  const [path = '', query = ''] = (request.url ?? '').split('?');
  const canonicalQuery = query.split('&').filter(Boolean).sort().join('&');
  const headers = names.split(';').map((name) => `${name}:${header(name)}\n`);
  const canonical = [
    request.method,
    path,
    canonicalQuery,
    headers.join(''),
    names,
    header('x-amz-content-sha256'),
  ].join('\n');
  const scope = `${day}/${region}/s3/aws4_request`;
  const toSign = ['AWS4-HMAC-SHA256', date, scope, sha256(canonical)].join('\n');
  const signingKey = [day, region, 's3', 'aws4_request'].reduce<Buffer | string>(hmac, `AWS4${SECRET_ACCESS_KEY}`);
  return hmac(signingKey, toSign).toString('hex') === signature ? null : 'SignatureDoesNotMatch';
}
