export type ImageType = 'image/jpeg' | 'image/png' | 'image/webp';

/** The format by the first bytes. This file imports nothing, because every start of the image decoder waits for its imports. */
export function imageType(bytes: Buffer): ImageType | null {
  const text = (start: number, end: number) => bytes.toString('latin1', start, end);
  if (text(0, 3) === '\xff\xd8\xff') return 'image/jpeg';
  if (text(0, 8) === '\x89PNG\r\n\x1a\n') return 'image/png';
  if (text(0, 4) === 'RIFF' && text(8, 12) === 'WEBP') return 'image/webp';
  return null;
}
