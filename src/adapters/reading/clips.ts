import type { UpstreamOutput } from '../../domain/channels/upstream.ts';
import { lengthOf } from './files.ts';
import { firstFiles } from './media-answers.ts';

/** The files of a family that makes clips only. A duration that the answer tells beside the clip is the clip's. */
export function clips(results: readonly unknown[], duration?: unknown): UpstreamOutput[] {
  const seconds = lengthOf(duration, 86_400);
  return firstFiles(results).map((file) => {
    const clip = asClip(file);
    return clip === file ? file : { ...clip, ...(seconds !== undefined && { duration: seconds }) };
  });
}

/** A file is a clip unless the answer says otherwise: a picture beside the clip, such as its last frame, stays a picture. */
export const asClip = (file: UpstreamOutput): UpstreamOutput =>
  file.kind === 'other' || file.kind === 'image' || file.mimeType !== undefined
    ? file
    : { ...file, mimeType: 'video/mp4' };
