import type { MediaInputKey } from '../catalog/parameter-value.ts';

/** What a media input must be, whether its bytes come from a `data:` URI, a stored file or a client's URL. */
export interface InputRule {
  kind: 'image' | 'video' | 'audio';
  maxBytes: number;
}

/** A worker sends inputs from memory: two of the largest fit into its memory for inputs. */
const imageMaxBytes = 10_000_000;
const otherMaxBytes = 50_000_000;

/** What the value of this parameter must be. */
export function inputRule(param: MediaInputKey): InputRule {
  const kind = kinds[param];
  return { kind, maxBytes: kind === 'image' ? imageMaxBytes : otherMaxBytes };
}

/** Judges the content of the bytes, never the declared type. */
export const isOfKind = ({ kind }: InputRule, mimeType: string): boolean => mimeType.startsWith(`${kind}/`);

const kinds: Readonly<Record<MediaInputKey, InputRule['kind']>> = {
  image: 'image',
  reference_images: 'image',
  video_url: 'video',
  audio_url: 'audio',
};
