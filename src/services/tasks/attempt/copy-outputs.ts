import type { FileDraft } from '../../../db/files/files.ts';
import type { CopiedFile } from '../../../db/ledger/ledger.ts';
import type { Deps } from '../../../deps.ts';
import type { TaskErrorCode, TaskType } from '../../../domain/tasks/task.ts';
import type { UpstreamOutput } from '../../../domain/channels/upstream.ts';
import { decodeDataUri } from '../../../platform/media/data-uri.ts';
import { FileTooLargeError, type Stored } from '../../../platform/files/file-store.ts';
import { newId } from '../../../platform/crypto/ids.ts';
import { pause } from '../../../platform/pause.ts';
import { HEAD_BYTES, probeStored, type MediaProbe } from '../../../platform/media/probe-media.ts';
import { discardFiles } from '../../files/discard-files.ts';
import { downloadResult } from './download-result.ts';

type CopyDeps = Pick<Deps, 'config' | 'db' | 'egress' | 'files' | 'logger'>;

export interface CopyInput {
  taskId: string;
  type: TaskType;
  /** The results with their files, whose rows were written before (`draftFiles`). */
  copies: readonly OutputCopy[];
  /** The channel's own configured origin is operator-trusted; every other URL goes through the egress guard. */
  channelBaseUrl: string;
  /** Sent to that origin only. Some providers require the credential to download a file. */
  channelHeaders?: Record<string, string>;
  remainingMs: () => number;
  signal: AbortSignal;
}

/** One result and its file. */
export interface OutputCopy {
  result: UpstreamOutput;
  draft: FileDraft;
}

export type CopyReport =
  | { kind: 'copied'; files: CopiedFile[] }
  | { kind: 'failed'; code: TaskErrorCode; detail: string }
  | { kind: 'interrupted' };

/** No model sells as many results per request, so a reply with more is broken. */
export const outputsMax = 16;
/** For one transfer of a result: the largest video at 4 MB/s. */
const fetchTimeoutMs = 120_000;

/**
 * New files for the results of an attempt. The fencing token is part of their names, so that a run that lost the attempt cannot
 * overwrite the files of the run that took it over.
 */
export const planCopies = (
  { attemptId, fence }: { attemptId: string; fence: string },
  results: readonly UpstreamOutput[],
): OutputCopy[] =>
  results.map((result, index) => {
    const storageKey = `outputs/${attemptId}-${fence}-${index}`;
    return { result, draft: { id: newId('file'), storageKey } };
  });

/**
 * Copies every result into our own file store, hashed and measured, before the upstream's links expire. A transfer that the
 * upstream or our file store breaks is retried until the deadline. A result that can never be used (private address,
 * too large, not media) fails without a retry; one that is refused (any 4xx) fails after five requests over a minute. A failed copy
 * leaves no file behind. A picture beside a clip, or a clip beside a picture, is left out: the bytes say so where the answer did not.
 */
export async function copyOutputs(deps: CopyDeps, input: CopyInput): Promise<CopyReport> {
  const files: CopiedFile[] = [];
  const others: FileDraft[] = [];
  for (const { result, draft } of input.copies) {
    const copied = await copyWithRetries(deps, input, result, draft);
    if (copied.kind === 'other') {
      others.push(draft);
      continue;
    }
    if (copied.kind !== 'copied') {
      await discardFiles(
        deps,
        input.copies.map((copy) => copy.draft),
      );
      return copied;
    }
    files.push(copied.file);
  }
  await discardFiles(deps, others);
  if (files.length > 0 || others.length === 0) return { kind: 'copied', files };
  return { kind: 'failed', code: 'upstream_invalid_response', detail: `the result is not a valid ${input.type}` };
}

type Copied = { kind: 'copied'; file: CopiedFile } | { kind: 'other' } | Exclude<CopyReport, { kind: 'copied' }>;
type NotStored =
  { kind: 'again'; detail: string } | { kind: 'refused'; detail: string } | Exclude<CopyReport, { kind: 'copied' }>;
type Fetched = ({ kind: 'stored' } & Stored) | NotStored;
type Measured = { kind: 'measured'; media: MediaProbe } & Pick<Stored, 'bytes' | 'sha256'>;

/**
 * The waits after a refusal, in the longest intervals of polls: five requests over a minute. What is paid for may be refused for a while,
 * because the provider's store, its signatures or its "not ready" are not consistent yet.
 */
const refusalWaits = [0.2, 1.8, 4, 6];

/** An answer that the same request may keep getting. After a minute of them the copy fails; after any other one it goes on. */
const isRefusal = (status: number): boolean => status < 500 && status !== 408 && status !== 429;

async function copyWithRetries(
  deps: CopyDeps,
  input: CopyInput,
  result: UpstreamOutput,
  draft: FileDraft,
): Promise<Copied> {
  const { pollIntervalMaxMs } = deps.config.attempts;
  let detail = 'the deadline passed before the result was copied';
  let refusals = 0;
  let backoffMs = 500;
  while (input.remainingMs() > 0) {
    const fetched = await copyOnce(deps, input, result, draft.storageKey);
    if (input.signal.aborted) return { kind: 'interrupted' };
    if (fetched.kind === 'measured') return { kind: 'copied', file: fileOf(input.type, result, draft, fetched) };
    if (fetched.kind !== 'again' && fetched.kind !== 'refused') return fetched;
    detail = fetched.detail;
    let waitMs = backoffMs;
    if (fetched.kind === 'refused') {
      const intervals = refusalWaits[refusals++];
      if (intervals === undefined) return { kind: 'failed', code: 'upstream_invalid_response', detail };
      waitMs = intervals * pollIntervalMaxMs;
    } else backoffMs = Math.min(backoffMs * 2, 15_000);
    await pause(Math.min(waitMs, input.remainingMs()), input.signal);
    if (input.signal.aborted) return { kind: 'interrupted' };
  }
  return { kind: 'failed', code: refusals > 0 ? 'upstream_invalid_response' : 'output_unavailable', detail };
}

/** An error of our own file store is retried: a synchronous result cannot be fetched again, and it is paid for. */
async function copyOnce(
  deps: CopyDeps,
  input: CopyInput,
  result: UpstreamOutput,
  storageKey: string,
): Promise<Measured | NotStored | { kind: 'other' }> {
  const { files, logger } = deps;
  try {
    const fetched = await fetchOnce(deps, input, result, storageKey);
    if (fetched.kind !== 'stored') return fetched;
    const { bytes, sha256, head } = fetched;
    const media = await probeStored(files, storageKey, bytes, head);
    if (media?.kind === input.type) return { kind: 'measured', media, bytes, sha256 };
    if (media) return { kind: 'other' };
    return { kind: 'failed', code: 'upstream_invalid_response', detail: `the result is not a valid ${input.type}` };
  } catch (error) {
    if (input.signal.aborted) return { kind: 'interrupted' };
    logger.warn({ err: error, task_id: input.taskId }, 'a result could not be written to the file store');
    return { kind: 'again', detail: 'the result could not be written to our file store' };
  }
}

async function fetchOnce(
  deps: CopyDeps,
  input: CopyInput,
  result: UpstreamOutput,
  storageKey: string,
): Promise<Fetched> {
  const { config, files } = deps;
  const maxBytes = input.type === 'image' ? config.outputs.imageMaxBytes : config.outputs.videoMaxBytes;
  const contentType = result.mimeType ?? 'application/octet-stream';
  const put = { maxBytes, contentType, headBytes: HEAD_BYTES, signal: input.signal };
  const unusable = (detail: string): Fetched => ({ kind: 'failed', code: 'upstream_invalid_response', detail });
  if (result.url.startsWith('data:')) {
    const decoded = decodeDataUri(result.url, { maxBytes });
    if (decoded.kind !== 'ok') return unusable('the result is a data: URI that cannot be decoded');
    return { kind: 'stored', ...(await files.put(storageKey, decoded.bytes, put)) };
  }
  try {
    const download = await downloadResult(
      deps,
      { url: result.url, channelBaseUrl: input.channelBaseUrl, channelHeaders: input.channelHeaders ?? {} },
      {
        timeoutMs: Math.max(1, Math.ceil(Math.min(fetchTimeoutMs, input.remainingMs()))),
        maxBytes,
        signal: input.signal,
      },
      (body) => files.put(storageKey, body, put),
    );
    switch (download.kind) {
      case 'saved':
        return { kind: 'stored', ...download.value };
      case 'blocked':
        return unusable(`the result's URL is not acceptable: ${download.reason}`);
      case 'answer':
        return {
          kind: isRefusal(download.status) ? 'refused' : 'again',
          detail: `the result's URL answered ${download.status}`,
        };
      case 'failed':
        if (download.reason === 'too_large') return unusable('the result is too large');
        return { kind: 'again', detail: `fetching the result failed: ${download.reason}` };
    }
  } catch (error) {
    if (error instanceof FileTooLargeError) return unusable('the result is too large');
    throw error;
  }
}

const fileOf = (
  type: TaskType,
  result: UpstreamOutput,
  draft: FileDraft,
  { media, bytes, sha256 }: Measured,
): CopiedFile => ({
  ...draft,
  mimeType: media.mime_type,
  bytes,
  sha256,
  width: media.width ?? result.width ?? null,
  height: media.height ?? result.height ?? null,
  duration: type === 'image' ? null : (media.duration ?? result.duration ?? null),
});
