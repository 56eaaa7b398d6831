import type { IncomingMessage } from 'node:http';
import { Busboy, type BusboyFileStream, type BusboyInstance } from '@fastify/busboy';
import { parse as parseContentType } from 'content-type';
import { GatewayError, quoted } from '../domain/errors.ts';
import type { JsonObject, JsonValue } from '../domain/json.ts';
import type { AppContext } from './context.ts';
import { demandStorable, demandUncompressed, forbiddenKeys, receiveBody, type BodyLimits } from './read-body.ts';

/** Whether the body is a form and not JSON. */
export const isForm = (request: IncomingMessage): boolean =>
  parseContentType(request.headers['content-type'] ?? '').type.toLowerCase() === 'multipart/form-data';

/**
 * Reads a multipart form as the JSON object that stands for the same request: a file is its data URI, `image[]` or a repeated field a
 * list, `input_reference[file_id]` a member of an object, and `2` or `true` a number or a boolean, except in fields of text. Declared
 * types of files are not checked here. Writes nothing to disk.
 *
 * Throws `GatewayError` `payload_too_large`, `invalid_multipart`, `overloaded` or `request_timeout`, and `ClientGone`.
 */
export async function readFormBody(ctx: AppContext, limits: BodyLimits): Promise<JsonObject> {
  demandUncompressed(ctx.req);
  const form = createForm(ctx.req, limits);
  await receiveBody(ctx, limits, { what: 'form', take: (chunk) => form.write(chunk) });
  return form.end();
}

/** Far above the fields of any request, and few enough that a hostile form costs no more than a hostile JSON. */
const fieldsMax = 100;
const filesMax = 20;
/** A prompt of 10,000 characters of four bytes each, and more. */
const fieldMaxBytes = 100_000;

interface Form {
  write(chunk: Buffer): void;
  end(): Promise<JsonObject>;
}

function createForm(request: IncomingMessage, { maxBytes, share }: BodyLimits): Form {
  const body: JsonObject = {};
  let trouble: GatewayError | undefined;
  const refuse = (error: GatewayError) => () => {
    trouble ??= error;
  };
  const attempt = (take: () => void): void => {
    try {
      take();
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      trouble ??= error;
    }
  };
  const parser = createParser(request, maxBytes);
  const finished = new Promise<void>((resolve) => parser.once('finish', resolve).once('error', () => resolve()));
  const broken = refuse(invalid('The multipart body is malformed or incomplete.'));
  parser
    .on('field', (name: string, text: string, _nameCut: boolean, isCut: boolean) => {
      if (isCut) refuse(invalid(`The field ${quoted(name)} has more than ${fieldMaxBytes} bytes.`, name))();
      else attempt(() => addField(body, name, scalarOf(name, text)));
    })
    .on('file', (name: string, stream: BusboyFileStream, _fileName: string, _encoding: string, type: string) => {
      const chunks: Buffer[] = [];
      stream.on('error', broken).on('data', (chunk: Buffer) => void chunks.push(chunk));
      stream.on('end', () =>
        attempt(() => {
          const base64 = Buffer.concat(chunks).toString('base64');
          share.take(base64.length);
          addField(body, name, `data:${plainType(type)};base64,${base64}`);
        }),
      );
    })
    .on('filesLimit', refuse(invalid(`The form has more than ${filesMax} files.`)))
    .on('fieldsLimit', refuse(invalid(`The form has more than ${fieldsMax} fields.`)))
    .on('partsLimit', refuse(invalid('The form has too many parts.')))
    .on('error', broken);
  return {
    write(chunk) {
      parser.write(chunk);
      if (trouble) throw trouble;
    },
    async end() {
      parser.end();
      await finished;
      if (trouble) throw trouble;
      return body;
    },
  };
}

function createParser(request: IncomingMessage, maxBytes: number): BusboyInstance {
  try {
    return new Busboy({
      headers: { ...request.headers, 'content-type': request.headers['content-type'] ?? '' },
      limits: {
        files: filesMax,
        fields: fieldsMax,
        parts: filesMax + fieldsMax,
        headerPairs: 20,
        fieldSize: fieldMaxBytes,
        fileSize: maxBytes,
      },
      isPartAFile: (_name, type, fileName) => fileName !== undefined || type === 'application/octet-stream',
    });
  } catch (cause) {
    throw invalid('The multipart Content-Type has no usable boundary.', undefined, cause);
  }
}

/** A declared type is part of the data URI and nothing else. The bytes decide what the file is. */
const plainType = (type: string): string =>
  /^[\w.+-]{1,60}\/[\w.+-]{1,60}$/.test(type) ? type : 'application/octet-stream';

/** Fields of text, which may look like numbers. */
const textFields = new Set(['model', 'prompt', 'negative_prompt', 'user', 'safety_identifier', 'size', 'seconds']);

function scalarOf(name: string, text: string): JsonValue {
  demandStorable(text);
  if (textFields.has(name)) return text;
  if (text === 'true' || text === 'false') return text === 'true';
  return /^-?(0|[1-9]\d{0,14})(\.\d{1,15})?$/.test(text) ? Number(text) : text;
}

/** Adds a value under `name`, `name[]` or `name[member]`, as SDKs write lists and objects in forms. */
function addField(body: JsonObject, path: string, value: JsonValue): void {
  const [, name = '', brackets, member = ''] = /^([A-Za-z_]\w{0,63})(\[(\w{0,64})\])?$/.exec(path) ?? [];
  if (name === '' || forbiddenKeys.has(name) || forbiddenKeys.has(member)) {
    throw invalid(`The form has a field with the name ${quoted(path)}, which is not accepted.`, path);
  }
  const before = Object.hasOwn(body, name) ? body[name] : undefined;
  if (member !== '') {
    if (before !== undefined && (typeof before !== 'object' || Array.isArray(before) || before === null)) {
      throw invalid(`The field ${name} was sent in two ways.`, name);
    }
    body[name] = { ...before, [member]: value };
  } else if (before === undefined) {
    body[name] = brackets === undefined ? value : [value];
  } else if (typeof before === 'object' && before !== null && !Array.isArray(before)) {
    throw invalid(`The field ${name} was sent in two ways.`, name);
  } else {
    body[name] = [...(Array.isArray(before) ? before : [before]), value];
  }
}

const invalid = (message: string, param?: string, cause?: unknown): GatewayError =>
  new GatewayError('invalid_multipart', {
    message,
    cause,
    ...(param !== undefined && { param: quoted(param) }),
  });
