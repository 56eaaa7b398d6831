import type { UpstreamOutput } from '../../domain/upstream.ts';
import { lengthOf } from './files.ts';
import { firstFiles } from './media-answers.ts';

/** The files of a family that makes clips only. A duration that the answer tells beside the clip is the clip's. */
export function clips(results: readonly unknown[], duration?: unknown): UpstreamOutput[] {
  const seconds = lengthOf(duration, 86_400);
  return firstFiles(results).map((file) => {
    if (file.kind === 'other' || file.kind === 'image' || file.mimeType !== undefined) return file;
    return { ...file, mimeType: 'video/mp4', ...(seconds !== undefined && { duration: seconds }) };
  });
}
