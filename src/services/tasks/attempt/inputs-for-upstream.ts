import { buffer } from 'node:stream/consumers';
import type { MediaInput, MediaRequest } from '../../../adapters/channel.ts';
import { findFile, type FileRow } from '../../../db/files/files.ts';
import type { Deps } from '../../../deps.ts';
import type { JsonObject, JsonValue } from '../../../domain/json.ts';
import { mediaInputKeys, type MediaInputKey } from '../../../domain/catalog/parameter-value.ts';
import { EgressRefusal } from '../../../platform/egress/check-url.ts';
import { fetchInput, InputUnavailable } from '../create/fetch-input.ts';
import { alarmOf } from '../../../domain/operators/alarm.ts';

export type InputDeps = Pick<Deps, 'config' | 'db' | 'egress' | 'files' | 'inputMemory' | 'logger' | 'urls'>;

export interface InputsWanted {
  taskId: string;
  projectId: string;
  input: JsonObject;
  /** True for a provider that accepts no URLs. */
  asBytes: boolean;
  remainingMs: () => number;
  /** Ends fetching and waiting. */
  signal: AbortSignal;
}

export type InputsReport =
  | { kind: 'ready'; inputs: Pick<MediaRequest, 'image' | 'referenceImages' | 'videoUrl' | 'audioUrl'> }
  /** An input is not available. The detail names the parameter and no host. */
  | { kind: 'failed'; detail: string };

/** The inputs of one attempt. Their bytes count against this process's memory budget. */
export interface HeldInputs {
  /** Reads the inputs that are sent as bytes. Throws if the file store fails. */
  read(): Promise<InputsReport>;
  /** Returns the bytes to the budget. The caller must drop everything that it read. A second call changes nothing. */
  release(): void;
}

export const hasMediaInputs = (input: JsonObject): boolean => mediaInputKeys.some((key) => input[key] !== undefined);

/**
 * Prepares the media inputs for one submit. Our own files are sent as their signed URL if `PUBLIC_BASE_URL` is public https, and
 * otherwise as bytes, because the provider could not reach this machine. A client's public URL is sent unchanged, or as the
 * bytes of our copy to a provider that accepts only bytes. Waits until the memory budget of the process has space for the
 * bytes. Returns null if the signal fires or the time is over first.
 */
export async function holdInputs(deps: InputDeps, wanted: InputsWanted): Promise<HeldInputs | null> {
  const { inputMemory } = deps;
  let locations: InputLocations;
  try {
    locations = await locationsOf(deps, wanted);
  } catch (error) {
    if (!(error instanceof InputUnavailable)) throw error;
    return wanted.signal.aborted ? null : failed(error.message);
  }
  const bytes = [...locations.values()]
    .flat()
    .reduce((sum, location) => sum + ('file' in location ? location.file.bytes : 0), 0);
  if (bytes > inputMemory.maxBytes) return failed('the inputs together are larger than the memory budget for inputs');
  const timeout = AbortSignal.timeout(Math.max(1, Math.ceil(wanted.remainingMs())));
  const release =
    bytes === 0
      ? () => undefined
      : await inputMemory.take(bytes, { owner: wanted.projectId, signal: AbortSignal.any([wanted.signal, timeout]) });
  return release && { read: () => readAll(deps, locations), release };
}

const failed = (detail: string): HeldInputs => ({
  read: () => Promise.resolve({ kind: 'failed', detail }),
  release: () => undefined,
});

/** The location of an input: an address that the provider can reach, or a file in our file store. */
type InputLocation = MediaInput | { file: FileRow };
type InputLocations = Map<MediaInputKey, InputLocation[]>;

async function locationsOf(deps: InputDeps, wanted: InputsWanted): Promise<InputLocations> {
  const locations: InputLocations = new Map();
  for (const param of mediaInputKeys) {
    const value: JsonValue | undefined = wanted.input[param];
    const found: InputLocation[] = [];
    for (const item of Array.isArray(value) ? value : [value]) {
      if (typeof item === 'string') found.push(await locationOf(deps, wanted, param, item));
    }
    if (found.length > 0) locations.set(param, found);
  }
  return locations;
}

const fetchTimeoutMs = 30_000;

async function locationOf(
  deps: InputDeps,
  wanted: InputsWanted,
  param: MediaInputKey,
  value: string,
): Promise<InputLocation> {
  const { taskId, projectId, asBytes, signal } = wanted;
  if (!value.startsWith('file_')) {
    if (!asBytes) return { url: value };
    const timeoutMs = Math.max(1, Math.ceil(Math.min(fetchTimeoutMs, wanted.remainingMs())));
    return { file: await fetchInput(deps, { taskId, projectId, param, url: value, timeoutMs, signal }) };
  }
  const file = await findFile(deps.db, value);
  if (!file) {
    // The cleanup deletes no file that a live task uses, so this is a bug or a lost disk.
    deps.logger.error(
      { task_id: taskId, file_id: value, ...alarmOf('input_missing') },
      'an input file of a live task is missing',
    );
    throw new InputUnavailable('our copy of an input is missing');
  }
  return !asBytes && canBeFetched(deps) ? { url: deps.urls.sign(file.id, file.expiresAt) } : { file };
}

/** Whether a provider can reach our own files. */
function canBeFetched({ config, egress }: InputDeps): boolean {
  if (!config.http.publicBaseUrl.startsWith('https:')) return false;
  try {
    egress.checkUrl(config.http.publicBaseUrl, { purpose: 'input' });
    return true;
  } catch (error) {
    if (error instanceof EgressRefusal) return false;
    throw error;
  }
}

async function readAll(deps: InputDeps, locations: InputLocations): Promise<InputsReport> {
  const read = (param: MediaInputKey): Promise<MediaInput[]> =>
    Array.fromAsync(locations.get(param) ?? [], (location) =>
      'file' in location ? dataUri(deps, location.file) : location,
    );
  const [image] = await read('image');
  const referenceImages = await read('reference_images');
  const [videoUrl] = await read('video_url');
  const [audioUrl] = await read('audio_url');
  return {
    kind: 'ready',
    inputs: {
      ...(image && { image }),
      ...(referenceImages.length > 0 && { referenceImages }),
      ...(videoUrl && { videoUrl }),
      ...(audioUrl && { audioUrl }),
    },
  };
}

async function dataUri({ files }: InputDeps, { mimeType, storageKey }: FileRow): Promise<MediaInput> {
  const bytes = await buffer(await files.open(storageKey));
  return { url: `data:${mimeType};base64,${bytes.toString('base64')}` };
}
