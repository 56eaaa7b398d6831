import type { IncomingMessage } from 'node:http';
import { parse as parseContentType } from 'content-type';
import { GatewayError } from '../../domain/errors.ts';
import type { AppContext } from '../context.ts';
import { createFormParser } from './form-parser.ts';
import { contentCodingOf } from './content-coding.ts';
import { receiveBody, bodyTooLarge, type BodyLimits } from './read-body.ts';

/** How long an upload may take to arrive: 10 MB over a slow line, about 700 kbit/s. */
export const UPLOAD_TIMEOUT_SECONDS = 120;

/**
 * Reads the picture of an upload: the multipart field `file`, or a raw body with an image type (rules "Uploads"). Counts bytes as
 * they arrive and writes nothing to disk. Declared types are not checked here: callers check the bytes.
 *
 * Throws `GatewayError` `unsupported_media_type`, `payload_too_large`, `invalid_multipart`, `overloaded` or `request_timeout`, and
 * `ClientGone`.
 */
export async function readUpload(ctx: AppContext, limits: BodyLimits): Promise<Buffer> {
  // A picture is compressed already.
  contentCodingOf(ctx, 'plain');
  const what = 'image';
  if (demandUploadType(ctx.req)) {
    const form = createPictureForm(ctx.req, limits.maxBytes);
    await receiveBody(ctx, limits, { what, take: form.write, extraBytes: envelopeMaxBytes });
    return form.end();
  }
  const chunks: Buffer[] = [];
  await receiveBody(ctx, limits, { what, take: (chunk) => void chunks.push(chunk) });
  return Buffer.concat(chunks);
}

/** The bytes of boundaries, part headers and the few other fields that are allowed. */
const envelopeMaxBytes = 32_000;

/** Takes the chunks of a form and returns the picture in it. Both throw as soon as the form is known to be invalid. */
function createPictureForm(request: IncomingMessage, maxBytes: number) {
  const chunks: Buffer[] = [];
  let bodyBytes = 0;
  let files = 0;
  const form = createFormParser(request, {
    limits: {
      files: 1,
      fields: 2,
      parts: 4,
      // The parser cuts longer headers off without an error. A body with such a header is refused when it has ended.
      headerSize: envelopeMaxBytes,
      fieldSize: 10_000,
      fileSize: maxBytes,
    },
    // A part named `file` is a file, even if the client omitted its filename.
    isPartAFile: (name, type, fileName) =>
      name === 'file' || fileName !== undefined || type === 'application/octet-stream',
    tooMany: {
      files: 'Only one file can be uploaded at a time.',
      fields: 'The form has too many other fields.',
      parts: 'The multipart body has too many parts.',
    },
    invalid,
    file(name) {
      files += 1;
      if (name !== 'file') throw invalid('The picture must be in the field named "file".');
      return {
        take: (chunk) => void chunks.push(chunk),
        cut() {
          throw bodyTooLarge('image', maxBytes);
        },
      };
    },
  });
  return {
    write: (chunk: Buffer): void => {
      bodyBytes += chunk.length;
      form.write(chunk);
    },
    async end(): Promise<Buffer> {
      await form.end();
      if (files === 0) throw invalid('There is no file in the field named "file".');
      const sent = Buffer.concat(chunks);
      if (bodyBytes - sent.length > envelopeMaxBytes) {
        throw invalid(`Part headers and other fields must have at most ${envelopeMaxBytes} bytes.`);
      }
      return sent;
    },
  };
}

/** Whether the body is multipart. Throws 415 for a type that cannot be a picture. */
function demandUploadType(request: IncomingMessage): boolean {
  const type = parseContentType(request.headers['content-type'] ?? '').type.toLowerCase();
  if (type === 'multipart/form-data') return true;
  if (/^image\/[\w.+-]+$/.test(type)) return false;
  throw new GatewayError('unsupported_media_type', {
    message: 'Send multipart/form-data with the field "file", or the picture itself with its image type.',
  });
}

const invalid = (message: string, cause?: unknown): GatewayError =>
  new GatewayError('invalid_multipart', { message, param: 'file', cause });
