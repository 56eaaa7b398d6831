import {
  draftFiles,
  findSourced,
  nameSource,
  recordFile,
  type FileDraft,
  type FileRow,
} from '../../../db/files/files.ts';
import type { Deps } from '../../../deps.ts';
import { inputRule, isOfKind } from '../../../domain/tasks/input-rule.ts';
import type { MediaInputKey } from '../../../domain/catalog/parameter-value.ts';
import { FileTooLargeError, type Stored } from '../../../platform/files/file-store.ts';
import { sha256Hex } from '../../../platform/crypto/hash.ts';
import { newId } from '../../../platform/crypto/ids.ts';
import { HEAD_BYTES, probeStored, type MediaProbe } from '../../../platform/media/probe-media.ts';
import { discardFiles } from '../../files/discard-files.ts';

export type FetchInputDeps = Pick<Deps, 'config' | 'db' | 'egress' | 'files' | 'logger'>;

export interface WantedInput {
  taskId: string;
  projectId: string;
  param: MediaInputKey;
  url: string;
  timeoutMs: number;
  signal: AbortSignal;
}

/** The client's URL cannot be used. The message names the parameter and no host. */
export class InputUnavailable extends Error {}

/**
 * Copies the file at a client's URL into our file store, once for its task and through the egress guard, so that every attempt
 * sends the same bytes. If two attempts fetch concurrently, the first complete copy is used. Throws `InputUnavailable`; the
 * next attempt may succeed.
 */
export async function fetchInput(deps: FetchInputDeps, wanted: WantedInput): Promise<FileRow> {
  const source = sha256Hex(wanted.url);
  const existing = await findSourced(deps.db, wanted.taskId, source);
  if (existing) return checkFile(wanted, existing);
  const id = newId('file');
  const draft = { id, storageKey: `inputs/${id}` };
  await draftFiles(deps.db, { ...fileFields(deps, wanted), drafts: [draft] });
  try {
    const { stored, media } = await fetchMedia(deps, wanted, draft);
    const { mime_type: mimeType, width, height, duration } = media;
    const { bytes, sha256 } = stored;
    const file = await recordFile(deps.db, {
      ...draft,
      ...fileFields(deps, wanted),
      mimeType,
      bytes,
      sha256,
      width,
      height,
      duration,
    });
    if (await nameSource(deps.db, id, source)) return file;
  } catch (error) {
    await discardFiles(deps, [draft]);
    throw error;
  }
  await discardFiles(deps, [draft]);
  const first = await findSourced(deps.db, wanted.taskId, source);
  if (!first) throw new Error('no copy of the input is recorded for the task');
  return checkFile(wanted, first);
}

const fileFields = ({ config }: FetchInputDeps, { projectId, taskId }: WantedInput) =>
  ({ projectId, taskId, purpose: 'input', keptSeconds: config.retention.contentSeconds }) as const;

/** Checks an earlier copy again, because the same URL may be given in two parameters that accept different kinds. */
function checkFile({ param }: WantedInput, file: FileRow): FileRow {
  const rule = inputRule(param);
  if (!isOfKind(rule, file.mimeType)) throw notOfKind(param, rule.kind);
  if (file.bytes > rule.maxBytes) throw new InputUnavailable(`${param} is too large`);
  return file;
}

const notOfKind = (param: MediaInputKey, kind: string) =>
  new InputUnavailable(`${param} is not a supported ${kind} file`);

async function fetchMedia(
  { egress, files }: FetchInputDeps,
  { url, param, timeoutMs, signal }: WantedInput,
  { storageKey }: FileDraft,
): Promise<{ stored: Stored; media: MediaProbe }> {
  const rule = inputRule(param);
  const { maxBytes } = rule;
  const contentType = 'application/octet-stream';
  const answer = await egress
    .download(url, { timeoutMs, maxBytes, signal }, (body) =>
      files.put(storageKey, body, { maxBytes, contentType, headBytes: HEAD_BYTES }),
    )
    .catch((error: unknown) => {
      if (error instanceof FileTooLargeError) return { kind: 'failed', reason: 'too_large' } as const;
      throw error;
    });
  if (answer.kind === 'answer') throw new InputUnavailable(`${param} could not be fetched: HTTP ${answer.status}`);
  if (answer.kind !== 'saved') {
    const isTooLarge = answer.reason === 'too_large';
    throw new InputUnavailable(
      isTooLarge ? `${param} is too large` : `${param} could not be fetched: ${answer.reason}`,
    );
  }
  const media = await probeStored(files, storageKey, answer.value.bytes, answer.value.head);
  if (!media || !isOfKind(rule, media.mime_type)) throw notOfKind(param, rule.kind);
  return { stored: answer.value, media };
}
