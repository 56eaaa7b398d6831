import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { z } from 'zod';
import { GatewayError } from '../../domain/errors.ts';
import { createFairBudget, type Share } from '../../platform/fair-budget.ts';
import { parseRange } from '../request/byte-range.ts';
import type { AppContext } from '../context.ts';
import type { Description } from '../description.ts';
import { Bytes } from '../openapi/schemas/file.ts';
import { queryAnyText } from '../request/query.ts';
import { isNotModified } from '../response/etag.ts';
import type { ByteRange } from '../../platform/files/file-store.ts';
import type { HttpDeps, SignedFile } from '../http-deps.ts';
import { ClientGone } from '../request/read-body.ts';
import { createPacer, createTurns } from '../server/paced-downloads.ts';
import { cutOffSlowReader } from '../server/slow-reader.ts';
import { endpoint, type Route } from '../route.ts';
import { notModified } from './common-descriptions.ts';

/**
 * Answers that one process sends at the same time. Each may hold a file handle, and in the kernel a few megabytes of a slow reader's socket.
 */
const DOWNLOADS_MAX = 500;

/** Sends stored files. All routes that send files share one, so that its bounds are those of the process. */
export interface Downloads {
  /** Waits for its turn and takes a slot for the project. The slot is held until the answer has ended. */
  enter(ctx: AppContext, projectId: string): Promise<void>;
  /** Answers with the whole file or one range of it (RFC 9110 §14). The headers keep browsers from running it as a page. */
  send(ctx: AppContext, file: SignedFile, about: { id: string; expires: number; projectId: string }): Promise<void>;
}

export function createDownloads(): Downloads {
  const downloads = createFairBudget({
    total: DOWNLOADS_MAX,
    message: 'The server is sending too many files at the same time. Try again in a few seconds.',
  });
  const requests = createTurns();
  const pace = createPacer();
  return {
    async enter(ctx, projectId) {
      await requests.turn(ctx, projectId);
      holdUntilClosed(ctx, downloads.open(projectId));
    },
    async send(ctx, file, { projectId, ...about }) {
      describe(ctx, file, about);
      ctx.status = 200;
      if (isNotModified(ctx, fileEtag(file))) {
        ctx.status = 304;
        return;
      }
      await sendBytes(ctx, file, (source) => pace(source, projectId));
    },
  };
}

/** How the answers with the bytes of a file are described. */
export const fileAnswers: Description['answers'] = {
  200: { description: 'The bytes.', content: { '*/*': Bytes } },
  206: {
    description: 'One range of the bytes.',
    content: { '*/*': Bytes },
    headers: { 'Content-Range': 'Which bytes.' },
  },
  304: notModified,
  416: { description: 'The range lies outside of the file.', headers: { 'Content-Range': 'The size of the file.' } },
};

/** A stored file for any client with its signed URL. A wrong or expired signature and an unknown file get the same 404. */
export const fileRoute = (
  { signedFiles }: Pick<HttpDeps, 'signedFiles'>,
  downloads: Downloads = createDownloads(),
): Route =>
  endpoint({
    method: 'GET',
    path: '/files/:id',
    auth: 'signed',
    dialect: 'openai',
    body: 'none',
    summary: 'Download a file',
    description: 'Takes no key: the signature in the URL is the permission. Supports `Range`.',
    tag: 'Files',
    params: { id: z.string().describe('The id of the file.') },
    query: { expires: queryAnyText('Unix seconds.'), signature: queryAnyText('Made by the gateway.') },
    // Mail and chat programs add parameters of their own. The signature does not cover them.
    anyQuery: true,
    answers: fileAnswers,
    errors: ['file_not_found'],
    async handler(ctx, { expires = '', signature = '' }) {
      // A URL has any number of readers. Kept alive, their connections would take the slots of other clients.
      ctx.set('connection', 'close');
      const id = ctx.params['id'] ?? '';
      const plausible = /^[\w-]{1,64}$/.test(id) && /^\d{1,12}$/.test(expires) && /^[\w-]{1,256}$/.test(signature);
      const owner = plausible ? await signedFiles.ownerOf(id, Number(expires), signature) : null;
      if (owner === null) throw new GatewayError('file_not_found');
      await downloads.enter(ctx, owner);
      const file = await signedFiles.openSigned(id, Number(expires), signature);
      if (!file) throw new GatewayError('file_not_found');
      await downloads.send(ctx, file, { id, expires: Number(expires), projectId: owner });
    },
  });

function holdUntilClosed({ res }: AppContext, slot: Share): void {
  if (res.closed) throw new ClientGone('The client went away');
  slot.take(1);
  res.once('close', () => slot.release());
  cutOffSlowReader(res);
}

const fileEtag = (file: SignedFile): string => `"${file.sha256}"`;

/** The types that a browser may display. Every other file is a download. */
const shownTypes = new Set([
  'image/png',
  'image/jpeg',
  'image/webp',
  'image/gif',
  'image/avif',
  'video/mp4',
  'video/webm',
  'video/quicktime',
]);

function describe(ctx: AppContext, file: SignedFile, { id, expires }: { id: string; expires: number }): void {
  const shown = shownTypes.has(file.mimeType);
  const remaining = Math.max(0, expires - Math.ceil(Date.now() / 1_000));
  ctx.attachment(safeName(file.fileName, id), { type: shown ? 'inline' : 'attachment' });
  ctx.set({
    'content-type': shown ? file.mimeType : 'application/octet-stream',
    'cache-control': `private, max-age=${remaining}`,
    'content-security-policy': "sandbox; default-src 'none'",
    'cross-origin-resource-policy': 'cross-origin',
    'accept-ranges': 'bytes',
    etag: fileEtag(file),
  });
}

const safeName = (name: string, fallback: string): string => {
  const safe = name
    .replace(/[^\w.-]+/g, '_')
    .replace(/^\.+/, '')
    .slice(0, 100);
  return safe === '' ? fallback : safe;
};

async function sendBytes(ctx: AppContext, file: SignedFile, pace: (source: Readable) => Readable): Promise<void> {
  const range = wantedRange(ctx, file);
  if (range === 'unsatisfiable') {
    ctx.set('content-range', `bytes */${file.bytes}`);
    ctx.remove('content-type');
    ctx.remove('content-disposition');
    ctx.set('cache-control', 'no-store');
    ctx.body = null;
    ctx.status = 416;
    return;
  }
  if (range) {
    ctx.status = 206;
    ctx.set('content-range', `bytes ${range.start}-${range.end}/${file.bytes}`);
  }
  const type = ctx.response.get('content-type');
  if (ctx.method !== 'HEAD') {
    ctx.body = await opened(ctx, pace(file.stream(range ?? undefined)));
    ctx.set('content-type', type);
  }
  ctx.length = range ? range.end - range.start + 1 : file.bytes;
}

function wantedRange(ctx: AppContext, file: SignedFile): ByteRange | 'unsatisfiable' | null {
  const header = ctx.get('range');
  const ifRange = ctx.get('if-range');
  // A date never matches, because the answer has no Last-Modified.
  if (header === '' || (ifRange !== '' && ifRange !== fileEtag(file))) return null;
  return parseRange(header, file.bytes);
}

/** Waits for the first bytes or the end, so that an unreadable file is an error answer and not a broken download. */
async function opened(ctx: AppContext, stream: Readable): Promise<Readable> {
  await once(stream, 'readable');
  // After the headers are sent, only a closed connection tells the client that bytes are missing.
  stream.on('error', () => ctx.res.destroy());
  return stream;
}
