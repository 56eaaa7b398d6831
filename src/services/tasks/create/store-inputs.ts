import { GatewayError, quoted } from '../../../domain/errors.ts';
import type { JsonObject, JsonValue } from '../../../domain/json.ts';
import { inputRule, isOfKind, type InputRule } from '../../../domain/tasks/input-rule.ts';
import { mediaInputKeys, type MediaInputKey } from '../../../domain/catalog/parameter-value.ts';
import { draftFiles, holdFile, recordFile, type FileDraft } from '../../../db/files/files.ts';
import type { Database } from '../../../db/database.ts';
import type { Deps } from '../../../deps.ts';
import { decodeDataUri } from '../../../platform/media/data-uri.ts';
import { isId, newId } from '../../../platform/crypto/ids.ts';
import { probeBytes } from '../../../platform/media/probe-media.ts';
import { discardFiles } from '../../files/discard-files.ts';
import { UPLOAD_STORED_MAX_BYTES } from '../../files/upload-image.ts';

type StoreDeps = Pick<Deps, 'config' | 'db' | 'files' | 'logger' | 'urls'>;

/**
 * Replaces every media input of a task by a `file_…` id or keeps it as an external URL, so that no row contains media bytes. The
 * project's own files, named by id or by URL, are kept for at least `heldSeconds`. The bytes of `data:` inputs go into the file
 * store. Throws `file_not_found`, `invalid_image` or `invalid_url` with `param`, and then leaves nothing stored.
 */
export async function storeInputs(
  deps: StoreDeps,
  task: { taskId: string; projectId: string; input: JsonObject; heldSeconds: number },
): Promise<{ input: JsonObject; files: FileDraft[] }> {
  // Our own files are checked first, because a check costs only a lookup.
  const held = await mapInputs(task.input, async (value, param) => {
    const fileId = fileIdIn(deps, value);
    if (fileId !== null) await holdOwnFile(deps.db, { ...task, fileId, param });
    return fileId ?? value;
  });
  const files: FileDraft[] = [];
  try {
    const input = await mapInputs(held, async (value, param) => {
      if (!value.startsWith('data:')) return value;
      const stored = await storeDataUri(deps, task, value, param);
      files.push(stored);
      return stored.id;
    });
    return { input, files };
  } catch (error) {
    await discardFiles(deps, files);
    throw error;
  }
}

/** The id of our own file that an input names by its id or URL; null for every other input. */
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
    if (Array.isArray(value)) mapped[key] = await Array.fromAsync(value, (item) => one(item, key));
    else if (value !== undefined) mapped[key] = await one(value, key);
  }
  return mapped;
}

async function holdOwnFile(
  db: Database,
  options: { fileId: string; projectId: string; heldSeconds: number; param: MediaInputKey },
): Promise<void> {
  const { fileId, projectId, heldSeconds, param } = options;
  const file = isId('file', fileId) ? await holdFile(db, { fileId, projectId, seconds: heldSeconds }) : null;
  if (!file) {
    const message = `${param}: there is no file ${quoted(fileId)} in the project of this key.`;
    throw new GatewayError('file_not_found', { message, param });
  }
  const rule = inputRule(param);
  if (!isOfKind(rule, file.mimeType)) throw notOfKind(rule, param);
  // An upload passed its size check when it arrived. Re-encoding may have made it larger, and it stays usable.
  const maxBytes = file.purpose === 'upload' ? Math.max(rule.maxBytes, UPLOAD_STORED_MAX_BYTES) : rule.maxBytes;
  if (file.bytes > maxBytes) {
    throw new GatewayError('invalid_url', {
      message: `${param} names a file of ${file.bytes} bytes; at most ${maxBytes} bytes are accepted.`,
      param,
    });
  }
}

const notOfKind = ({ kind }: InputRule, param: MediaInputKey): GatewayError =>
  new GatewayError(kind === 'image' ? 'invalid_image' : 'invalid_url', {
    message: `${param} is not ${kind} data in a supported format.`,
    param,
  });

async function storeDataUri(
  { config, db, files }: StoreDeps,
  { taskId, projectId }: { taskId: string; projectId: string },
  uri: string,
  param: MediaInputKey,
): Promise<FileDraft> {
  const rule = inputRule(param);
  const decoded = decodeDataUri(uri, { maxBytes: rule.maxBytes });
  if (decoded.kind !== 'ok') {
    const fault = decoded.reason === 'too_large' ? `larger than ${rule.maxBytes} bytes` : 'not valid base64';
    throw new GatewayError('invalid_url', { message: `${param} has a data: URI that is ${fault}.`, param });
  }
  const media = await probeBytes(decoded.bytes);
  if (!media || !isOfKind(rule, media.mime_type)) throw notOfKind(rule, param);

  const id = newId('file');
  const draft = { id, storageKey: `inputs/${id}` };
  const fields = { projectId, taskId, purpose: 'input', keptSeconds: config.retention.contentSeconds } as const;
  await draftFiles(db, { ...fields, drafts: [draft] });
  const { bytes, sha256 } = await files.put(draft.storageKey, decoded.bytes, {
    maxBytes: decoded.bytes.length,
    contentType: media.mime_type,
  });
  const { mime_type: mimeType, width, height, duration } = media;
  await recordFile(db, { ...draft, ...fields, mimeType, bytes, sha256, width, height, duration });
  return draft;
}
