import type { TaskType } from './task.ts';
import type { FileKind, UpstreamOutput } from '../channels/upstream.ts';

/**
 * The results of a task among the files that an answer told, in order: those of its type, and those whose type is not said, because
 * their bytes will. If no file can be of its type all are kept, so that the copy says what is wrong. `left` are the others, such as a
 * thumbnail beside a clip.
 */
export function fittingOutputs(
  outputs: readonly UpstreamOutput[],
  type: TaskType,
): { kept: UpstreamOutput[]; left: UpstreamOutput[] } {
  const isOther = (output: UpstreamOutput): boolean => (kindOf(output) ?? type) !== type;
  const kept = outputs.filter((output) => !isOther(output));
  return kept.length === 0 ? { kept: [...outputs], left: [] } : { kept, left: outputs.filter(isOther) };
}

/** What a file is by its media type, else by the name of its field, else by the extension of its address. */
function kindOf({ url, mimeType, kind }: UpstreamOutput): FileKind | undefined {
  if (kind === 'other') return kind;
  const [, inline] = /^data:(image|video|audio)\//i.exec(url) ?? [];
  const [, declared] = /^(image|video|audio|text)\//i.exec(mimeType ?? '') ?? [];
  const word = (inline ?? declared)?.toLowerCase();
  if (word === 'image' || word === 'video') return word;
  return word === undefined ? (kindOfExtension(url) ?? kind) : 'other';
}

function kindOfExtension(url: string): FileKind | undefined {
  const [, extension = ''] = /\.([a-z0-9]{2,5})(?:[?#]|$)/i.exec(url.slice(0, 4_000)) ?? [];
  if (/^(?:mp4|m4v|mov|webm|mkv)$/i.test(extension)) return 'video';
  if (/^(?:png|jpe?g|webp|gif|avif|bmp|tiff?)$/i.test(extension)) return 'image';
  return /^(?:mp3|wav|m4a|aac|ogg|flac|srt|vtt|json|txt|zip)$/i.test(extension) ? 'other' : undefined;
}
