import type { MediaInput, MediaRequest } from '../channels/channel.ts';
import { findFile } from '../db/files.ts';
import type { Deps } from '../deps.ts';
import type { JsonObject, JsonValue } from '../domain/json.ts';
import { inputRule, isOfKind } from '../domain/media-input.ts';
import type { MediaInputKey } from '../domain/parameters.ts';
import { EgressRefusal } from '../platform/egress.ts';
import { probeBytes } from '../platform/probe-media.ts';

type InputDeps = Pick<Deps, 'config' | 'db' | 'egress' | 'files' | 'urls'>;

export type InputsReport =
  | { kind: 'ready'; inputs: Pick<MediaRequest, 'image' | 'referenceImages' | 'videoUrl' | 'audioUrl'> }
  /** A client's URL could not be fetched; the detail names the parameter and no host. */
  | { kind: 'failed'; detail: string };

/**
 * The media inputs as they go upstream. Our files travel as bytes, so that they work from a machine that no provider can
 * reach, or as their signed URL where `PUBLIC_BASE_URL` is public https; a client's own public URL as it is, or, for a
 * provider that takes only bytes, fetched through the egress guard.
 */
export async function inputsForUpstream(
  deps: InputDeps,
  input: JsonObject,
  { asBytes }: { asBytes: boolean },
): Promise<InputsReport> {
  const one = (value: JsonValue | undefined, param: MediaInputKey) =>
    typeof value === 'string' ? mediaInput(deps, value, { param, asBytes }) : undefined;
  try {
    const image = await one(input.image, 'image');
    const videoUrl = await one(input.video_url, 'video_url');
    const audioUrl = await one(input.audio_url, 'audio_url');
    const referenceImages: MediaInput[] = [];
    for (const item of Array.isArray(input.reference_images) ? input.reference_images : []) {
      const reference = await one(item, 'reference_images');
      if (reference) referenceImages.push(reference);
    }
    return {
      kind: 'ready',
      inputs: {
        ...(image && { image }),
        ...(referenceImages.length > 0 && { referenceImages }),
        ...(videoUrl && { videoUrl }),
        ...(audioUrl && { audioUrl }),
      },
    };
  } catch (error) {
    if (error instanceof InputUnavailable) return { kind: 'failed', detail: error.message };
    throw error;
  }
}

class InputUnavailable extends Error {}

const fetchTimeoutMs = 30_000;

async function mediaInput(
  deps: InputDeps,
  value: string,
  { param, asBytes }: { param: MediaInputKey; asBytes: boolean },
): Promise<MediaInput> {
  if (!value.startsWith('file_')) return asBytes ? fetched(deps, value, param) : { url: value };
  const file = await findFile(deps.db, value);
  // A file that a live task uses is not deleted, so this is a bug or a lost disk.
  if (!file) throw new Error(`the input ${value} is gone`);
  if (!asBytes && canBeFetched(deps)) return { url: deps.urls.sign(file.id, file.expiresAt) };
  const chunks: Buffer[] = [];
  for await (const chunk of await deps.files.open(file.storageKey)) chunks.push(Buffer.from(chunk as Uint8Array));
  return dataUri(file.mimeType, Buffer.concat(chunks));
}

/** Whether a provider can reach our own files. */
function canBeFetched({ config, egress }: InputDeps): boolean {
  if (!config.PUBLIC_BASE_URL.startsWith('https:')) return false;
  try {
    egress.checkUrl(config.PUBLIC_BASE_URL, { purpose: 'input' });
    return true;
  } catch (error) {
    if (error instanceof EgressRefusal) return false;
    throw error;
  }
}

async function fetched({ config, egress }: InputDeps, url: string, param: MediaInputKey): Promise<MediaInput> {
  const rule = inputRule(param, config);
  const answer = await egress.fetch(url, { timeoutMs: fetchTimeoutMs, maxBytes: rule.maxBytes, purpose: 'input' });
  if (answer.kind !== 'answer') throw new InputUnavailable(`${param} could not be fetched: ${answer.reason}`);
  if (answer.status !== 200) throw new InputUnavailable(`${param} could not be fetched: HTTP ${answer.status}`);
  if (answer.truncated) throw new InputUnavailable(`${param} is too large`);
  const media = await probeBytes(answer.body);
  if (!media || !isOfKind(rule, media.mime_type)) throw new InputUnavailable(`${param} is no ${rule.kind} known here`);
  return dataUri(media.mime_type, answer.body);
}

const dataUri = (mimeType: string, bytes: Buffer): MediaInput => ({
  url: `data:${mimeType};base64,${bytes.toString('base64')}`,
});
