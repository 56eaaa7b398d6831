import type { IncomingMessage } from 'node:http';
import { Busboy, type BusboyFileStream, type BusboyInstance } from '@fastify/busboy';
import { parse as parseContentType } from 'content-type';
import { GatewayError } from '../domain/errors.ts';
import type { AppContext } from './context.ts';
import { demandUncompressed, receiveBody, tooLarge, type BodyLimits } from './read-body.ts';

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
  const isMultipart = demandUploadType(ctx.req);
  const picture = isMultipart ? multipartPicture(ctx.req, limits.maxBytes) : rawPicture();
  const extraBytes = isMultipart ? envelopeMaxBytes : 0;
  await receiveBody(ctx, limits, { what: 'image', take: (chunk) => picture.write(chunk), extraBytes });
  return picture.end();
}

/** The bytes of boundaries, part headers and the few other fields that are allowed. */
const envelopeMaxBytes = 32_000;

/** Collects the chunks of the body and returns the picture. Both throw as soon as the body is known to be invalid. */
interface Picture {
  write(chunk: Buffer): void;
  end(): Promise<Buffer>;
}

function rawPicture(): Picture {
  const chunks: Buffer[] = [];
  return {
    write: (chunk) => void chunks.push(chunk),
    end: () => Promise.resolve(Buffer.concat(chunks)),
  };
}

function multipartPicture(request: IncomingMessage, maxBytes: number): Picture {
  const chunks: Buffer[] = [];
  let bodyBytes = 0;
  let files = 0;
  let trouble: GatewayError | undefined;
  const refuse = (error: GatewayError) => () => {
    trouble ??= error;
  };
  const parser = createParser(request, maxBytes);
  const finished = new Promise<void>((resolve) => parser.once('finish', resolve).once('error', () => resolve()));
  const broken = refuse(invalid('The multipart body is malformed or incomplete.'));
  parser
    .on('file', (name: string, stream: BusboyFileStream) => {
      files += 1;
      if (name !== 'file') refuse(invalid('The picture must be in the field named "file".'))();
      stream.on('limit', refuse(tooLarge('image', maxBytes))).on('error', broken);
      stream.on('data', (chunk: Buffer) => void chunks.push(chunk));
    })
    .on('filesLimit', refuse(invalid('Only one file can be uploaded at a time.')))
    .on('fieldsLimit', refuse(invalid('The form has too many other fields.')))
    .on('partsLimit', refuse(invalid('The multipart body has too many parts.')))
    .on('error', broken);
  return {
    write(chunk) {
      bodyBytes += chunk.length;
      parser.write(chunk);
      if (trouble) throw trouble;
    },
    async end() {
      parser.end();
      await finished;
      if (trouble) throw trouble;
      if (files === 0) throw invalid('There is no file in the field named "file".');
      const sent = Buffer.concat(chunks);
      if (bodyBytes - sent.length > envelopeMaxBytes) {
        throw invalid(`Part headers and other fields must have at most ${envelopeMaxBytes} bytes.`);
      }
      return sent;
    },
  };
}

function createParser(request: IncomingMessage, maxBytes: number): BusboyInstance {
  try {
    return new Busboy({
      headers: { ...request.headers, 'content-type': request.headers['content-type'] ?? '' },
      limits: {
        files: 1,
        fields: 2,
        parts: 4,
        headerPairs: 20,
        // The parser cuts longer headers off without an error. A body with such a header is refused when it has ended.
        headerSize: envelopeMaxBytes,
        fieldSize: 10_000,
        fileSize: maxBytes,
      },
      // A part named `file` is a file, even if the client omitted its filename.
      isPartAFile: (name, type, fileName) =>
        name === 'file' || fileName !== undefined || type === 'application/octet-stream',
    });
  } catch (cause) {
    throw invalid('The multipart Content-Type has no usable boundary.', cause);
  }
}

/** Whether the body is multipart. Throws 415 for a type that cannot be a picture. */
function demandUploadType(request: IncomingMessage): boolean {
  demandUncompressed(request);
  const type = parseContentType(request.headers['content-type'] ?? '').type.toLowerCase();
  if (type === 'multipart/form-data') return true;
  if (/^image\/[\w.+-]+$/.test(type)) return false;
  throw new GatewayError('unsupported_media_type', {
    message: 'Send multipart/form-data with the field "file", or the picture itself with its image type.',
  });
}

const invalid = (message: string, cause?: unknown): GatewayError =>
  new GatewayError('invalid_multipart', { message, param: 'file', cause });
