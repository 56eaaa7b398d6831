import { GatewayError } from '../domain/errors.ts';
import type { JsonObject, JsonValue } from '../domain/json.ts';
import { inputRule, isOfKind, type InputRule } from '../domain/media-input.ts';
import { mediaInputKeys, type MediaInputKey } from '../domain/parameters.ts';
import { holdFile, recordFile, removeFile } from '../db/files.ts';
import type { Deps } from '../deps.ts';
import { decodeDataUri } from '../platform/data-uri.ts';
import { isId, newId } from '../platform/ids.ts';
import { probeBytes } from '../platform/probe-media.ts';

export interface StoredInput {
  fileId: string;
  storageKey: string;
}

type StoreDeps = Pick<Deps, 'config' | 'db' | 'files' | 'logger' | 'urls'>;

/**
 * Makes every media input of a task either a `file_…` id or a URL that is not ours, so that no row carries pictures. The
 * project's own files, named by id or by their URL, are kept for `heldSeconds` at least; the bytes of `data:` inputs go into
 * the file store. Throws `file_not_found`, `invalid_image` or `invalid_url` with `param`, and leaves nothing stored then.
 */
export async function storeInputs(
  deps: StoreDeps,
  given: { taskId: string; projectId: string; input: JsonObject; heldSeconds: number },
): Promise<{ input: JsonObject; files: StoredInput[] }> {
  // Refusals come first: what they cost is a look-up.
  const held = await mapInputs(given.input, async (value, param) => {
    const fileId = fileIdIn(deps, value);
    if (fileId !== null) await holdOwnFile(deps, { ...given, fileId, param });
    return fileId ?? value;
  });
  const files: StoredInput[] = [];
  try {
    const input = await mapInputs(held, async (value, param) => {
      if (!value.startsWith('data:')) return value;
      const stored = await storeDataUri(deps, given, value, param);
      files.push(stored);
      return stored.fileId;
    });
    return { input, files };
  } catch (error) {
    await forgetInputs(deps, files);
    throw error;
  }
}

/** For a task that was not accepted: it leaves nothing behind. Never throws. */
export async function forgetInputs(
  { db, files, logger }: Omit<StoreDeps, 'config' | 'urls'>,
  stored: StoredInput[],
): Promise<void> {
  for (const { fileId, storageKey } of stored) {
    try {
      await files.delete(storageKey);
      await removeFile(db, fileId);
    } catch (error) {
      logger.warn({ err: error, file_id: fileId }, 'an unused input stays until retention');
    }
  }
}

/** The file of ours that an input names, by its id or by its URL; null for every other input. */
export const fileIdIn = ({ urls }: Pick<Deps, 'urls'>, value: string): string | null =>
  value.startsWith('file_') ? value : urls.fileIdOf(value);

async function mapInputs(
  input: JsonObject,
  replace: (value: string, param: MediaInputKey) => Promise<string>,
): Promise<JsonObject> {
  const one = async (value: JsonValue, param: MediaInputKey): Promise<JsonValue> =>
    typeof value === 'string' ? replace(value, param) : value;
  const mapped: JsonObject = { ...input };
  for (const key of mediaInputKeys) {
    const value = input[key];
    if (Array.isArray(value)) mapped[key] = await inTurn(value, (item) => one(item, key));
    else if (value !== undefined) mapped[key] = await one(value, key);
  }
  return mapped;
}

async function holdOwnFile(
  { config, db }: Pick<Deps, 'config' | 'db'>,
  given: { fileId: string; projectId: string; heldSeconds: number; param: MediaInputKey },
): Promise<void> {
  const { fileId, projectId, heldSeconds, param } = given;
  const file = isId('file', fileId) ? await holdFile(db, { fileId, projectId, seconds: heldSeconds }) : null;
  if (!file) throw new GatewayError('file_not_found', { param });
  const rule = inputRule(param, config);
  if (!isOfKind(rule, file.mimeType)) throw otherKind(rule, param);
  // An upload was judged when it came; encoding it anew may have made it larger, and it is usable all the same.
  const maxBytes = file.purpose === 'upload' ? Math.max(rule.maxBytes, config.UPLOAD_STORED_MAX_BYTES) : rule.maxBytes;
  if (file.bytes > maxBytes) {
    throw new GatewayError('invalid_url', { message: `${param} names a file that is too large for it.`, param });
  }
}

const otherKind = ({ kind }: InputRule, param: MediaInputKey): GatewayError =>
  new GatewayError(kind === 'image' ? 'invalid_image' : 'invalid_url', {
    message: `${param} holds no ${kind} that is known here.`,
    param,
  });

async function storeDataUri(
  { config, db, files }: StoreDeps,
  { taskId, projectId }: { taskId: string; projectId: string },
  uri: string,
  param: MediaInputKey,
): Promise<StoredInput> {
  const rule = inputRule(param, config);
  const decoded = decodeDataUri(uri, { maxBytes: rule.maxBytes });
  if (decoded.kind !== 'ok') {
    throw new GatewayError('invalid_url', { message: `${param} holds a data: URI that cannot be read.`, param });
  }
  const media = await probeBytes(decoded.bytes);
  if (!media || !isOfKind(rule, media.mime_type)) throw otherKind(rule, param);

  const fileId = newId('file');
  const storageKey = `inputs/${fileId}`;
  const { bytes, sha256 } = await files.put(storageKey, decoded.bytes, {
    maxBytes: decoded.bytes.length,
    contentType: media.mime_type,
  });
  await recordFile(db, {
    id: fileId,
    projectId,
    taskId,
    purpose: 'input',
    storageKey,
    mimeType: media.mime_type,
    bytes,
    sha256,
    width: media.width,
    height: media.height,
    duration: media.duration,
    keptSeconds: config.CONTENT_RETENTION_SECONDS,
  });
  return { fileId, storageKey };
}

async function inTurn<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (const item of items) results.push(await work(item));
  return results;
}
