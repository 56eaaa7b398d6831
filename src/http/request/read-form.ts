import type { IncomingMessage } from 'node:http';
import { parse as parseContentType } from 'content-type';
import { GatewayError, quoted } from '../../domain/errors.ts';
import { isObject, type JsonObject, type JsonValue } from '../../domain/json.ts';
import type { AppContext } from '../context.ts';
import { createFormParser, type FormRules } from './form-parser.ts';
import { contentCodingOf } from './content-coding.ts';
import { demandStorable, forbiddenKeys, receiveBody, type BodyLimits } from './read-body.ts';

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
  // What is large in a form is compressed already.
  contentCodingOf(ctx, 'plain');
  const body: JsonObject = {};
  const form = createFormParser(ctx.req, formRules(body, limits));
  await receiveBody(ctx, limits, { what: 'form', take: form.write });
  await form.end();
  return body;
}

/** Far above the fields of any request, and few enough that a hostile form costs no more than a hostile JSON. */
const fieldsMax = 100;
const filesMax = 20;
/** A prompt of 10,000 characters of four bytes each, and more. */
const fieldMaxBytes = 100_000;

/** Parts become members of `body`. */
function formRules(body: JsonObject, { maxBytes, share }: BodyLimits): FormRules {
  return {
    limits: {
      files: filesMax,
      fields: fieldsMax,
      parts: filesMax + fieldsMax,
      fieldSize: maxBytes,
      fileSize: maxBytes,
    },
    isPartAFile: (_name, type, fileName) => fileName !== undefined || type === 'application/octet-stream',
    tooMany: {
      files: `The form has more than ${filesMax} files.`,
      fields: `The form has more than ${fieldsMax} fields.`,
      parts: 'The form has too many parts.',
    },
    invalid: (message, cause) => invalid(message, undefined, cause),
    field(name, text, isCut) {
      const most = pictureFields.test(name) ? maxBytes : fieldMaxBytes;
      const bytes = Buffer.byteLength(text);
      if (isCut || bytes > most) throw invalid(`The field ${quoted(name)} has more than ${most} bytes.`, name);
      if (bytes > fieldMaxBytes) share.take(bytes);
      addField(body, name, scalarOf(name, text));
    },
    file(name, type) {
      const chunks: Buffer[] = [];
      return {
        take: (chunk) => void chunks.push(chunk),
        end() {
          const base64 = Buffer.concat(chunks).toString('base64');
          share.take(base64.length);
          addField(body, name, `data:${plainType(type)};base64,${base64}`);
        },
      };
    },
  };
}

/** A declared type is part of the data URI and nothing else. The bytes decide what the file is. */
const plainType = (type: string): string =>
  /^[\w.+-]{1,60}\/[\w.+-]{1,60}$/.test(type) ? type : 'application/octet-stream';

/** Fields with pictures, which openai-go and openai-java send as data URIs. */
const pictureFields = /^(image|images|input_reference|reference_images)(\[\w{0,64}\])?$/;

/** Fields of text or with members of text, which may look like numbers. */
const textFields = /^(model|prompt|negative_prompt|user|safety_identifier|size|seconds|metadata\[.*)$/;

function scalarOf(name: string, text: string): JsonValue {
  demandStorable(text);
  if (textFields.test(name)) return text;
  if (text === 'true' || text === 'false') return text === 'true';
  return /^-?(0|[1-9]\d{0,14})(\.\d{1,15})?$/.test(text) ? Number(text) : text;
}

/** Adds a value under `name`, `name[]`, `name[0]` or `name[member]`, as SDKs and PHP write lists and objects in forms. */
function addField(body: JsonObject, path: string, value: JsonValue): void {
  const [, name = '', brackets, member = ''] = /^([A-Za-z_]\w{0,63})(\[(\w{0,64})\])?$/.exec(path) ?? [];
  if (name === '' || forbiddenKeys.has(name) || forbiddenKeys.has(member)) {
    throw invalid(`The form has a field with the name ${quoted(path)}, which is not accepted.`, path);
  }
  const before = Object.hasOwn(body, name) ? body[name] : undefined;
  const isItem = member === '' || (/^\d+$/.test(member) && name !== 'metadata');
  if (!isItem) {
    if (before !== undefined && (typeof before !== 'object' || Array.isArray(before) || before === null)) {
      throw invalid(`The field ${name} was sent in two ways.`, name);
    }
    body[name] = { ...before, [member]: value };
  } else if (before === undefined) {
    body[name] = brackets === undefined ? value : [value];
  } else if (isObject(before)) {
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
