import type { MediaInput, MediaRequest } from '../channels/channel.ts';
import { findFile } from '../db/files.ts';
import type { Deps } from '../deps.ts';
import type { JsonObject, JsonValue } from '../domain/json.ts';

/**
 * The media inputs as they go upstream: a client's own public URL as it is, our files as bytes, so that they work from a
 * machine that no provider can reach.
 */
export async function inputsForUpstream(
  deps: Pick<Deps, 'config' | 'db' | 'files'>,
  input: JsonObject,
): Promise<Pick<MediaRequest, 'image' | 'referenceImages' | 'videoUrl' | 'audioUrl'>> {
  const { image, reference_images: references, video_url: video, audio_url: audio } = input;
  const one = async (value: JsonValue | undefined) =>
    typeof value === 'string' ? await mediaInput(deps, value) : undefined;
  const [imageInput, videoUrl, audioUrl] = [await one(image), await one(video), await one(audio)];
  const referenceImages: MediaInput[] = [];
  for (const item of Array.isArray(references) ? references : []) {
    if (typeof item === 'string') referenceImages.push(await mediaInput(deps, item));
  }
  return {
    ...(imageInput && { image: imageInput }),
    ...(referenceImages.length > 0 && { referenceImages }),
    ...(videoUrl && { videoUrl }),
    ...(audioUrl && { audioUrl }),
  };
}

async function mediaInput({ db, files }: Pick<Deps, 'db' | 'files'>, value: string): Promise<MediaInput> {
  if (!value.startsWith('file_')) return { url: value };
  const file = await findFile(db, value);
  // A file that a live task uses is not deleted, so this is a bug or a lost disk; the attempt is retried until the deadline.
  if (!file) throw new Error(`the input ${value} is gone`);
  const chunks: Buffer[] = [];
  for await (const chunk of await files.open(file.storageKey)) chunks.push(Buffer.from(chunk as Uint8Array));
  return { url: `data:${file.mimeType};base64,${Buffer.concat(chunks).toString('base64')}` };
}
