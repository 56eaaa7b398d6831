import { GatewayError } from '../domain/errors.ts';
import type { JsonObject, JsonValue } from '../domain/json.ts';
import { mediaInputKeys } from '../domain/parameters.ts';
import { findFile, recordFile } from '../db/files.ts';
import type { Deps } from '../deps.ts';
import { decodeDataUri } from '../platform/data-uri.ts';
import { newId } from '../platform/ids.ts';
import { probeBytes } from '../platform/probe-media.ts';

export interface StoredInput {
  fileId: string;
  storageKey: string;
}

type StoreDeps = Pick<Deps, 'config' | 'db' | 'files'>;

/**
 * Puts the bytes of `data:` inputs into the file store and their `file_…` ids in their place, so that no row carries
 * pictures. Other inputs stay as they are; a `file_…` id must be one of the project's own.
 */
export async function storeDataUris(
  deps: StoreDeps,
  given: { taskId: string; projectId: string; input: JsonObject },
): Promise<{ input: JsonObject; files: StoredInput[] }> {
  const files: StoredInput[] = [];
  const input: JsonObject = { ...given.input };
  const replace = async (value: JsonValue, param: string): Promise<JsonValue> => {
    if (typeof value !== 'string') return value;
    if (value.startsWith('file_')) await assertOwnFile(deps, given.projectId, value, param);
    if (!value.startsWith('data:')) return value;
    const stored = await storeDataUri(deps, given, value, param);
    files.push(stored);
    return stored.fileId;
  };
  for (const key of mediaInputKeys) {
    const value = input[key];
    if (Array.isArray(value)) input[key] = await inTurn(value, (item) => replace(item, key));
    else if (value !== undefined) input[key] = await replace(value, key);
  }
  return { input, files };
}

async function assertOwnFile({ db }: StoreDeps, projectId: string, fileId: string, param: string): Promise<void> {
  const file = await findFile(db, fileId);
  if (file?.projectId !== projectId) throw new GatewayError('file_not_found', { param });
}

async function storeDataUri(
  { config, db, files }: StoreDeps,
  { taskId, projectId }: { taskId: string; projectId: string },
  uri: string,
  param: string,
): Promise<StoredInput> {
  const isPicture = param === 'image' || param === 'reference_images';
  const decoded = decodeDataUri(uri, {
    maxBytes: isPicture ? config.INPUT_IMAGE_MAX_BYTES : config.INPUT_OTHER_MAX_BYTES,
  });
  if (decoded.kind !== 'ok') {
    throw new GatewayError('invalid_url', { message: `${param} holds a data: URI that cannot be read.`, param });
  }
  const media = await probeBytes(decoded.bytes);
  if (isPicture && media?.kind !== 'image') throw new GatewayError('invalid_image', { param });
  if (!media) throw new GatewayError('invalid_url', { message: `${param} holds no media that is known here.`, param });

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
