import type { MediaInputKey } from './parameters.ts';

/** What a media input must be, whether its bytes come from a `data:` URI, a stored file or a client's URL. */
export interface InputRule {
  kind: 'image' | 'video' | 'audio';
  maxBytes: number;
}

export interface InputCaps {
  imageMaxBytes: number;
  otherMaxBytes: number;
}

export function inputRule(param: MediaInputKey, caps: InputCaps): InputRule {
  const kind = kinds[param];
  return { kind, maxBytes: kind === 'image' ? caps.imageMaxBytes : caps.otherMaxBytes };
}

/** Judges the content of the bytes, never the declared type. */
export const isOfKind = ({ kind }: InputRule, mimeType: string): boolean => mimeType.startsWith(`${kind}/`);

const kinds: Readonly<Record<MediaInputKey, InputRule['kind']>> = {
  image: 'image',
  reference_images: 'image',
  video_url: 'video',
  audio_url: 'audio',
};
