/** The bytes of a base64 text (RFC 4648, with or without padding), in memory of their own; null for any other text, and for an empty one. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> | null {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  const digits = text.length - padding;
  if (digits === 0 || digits % 4 === 1) return null;
  const bytes = new Uint8Array(Math.floor((digits * 3) / 4));
  // A character that is not of the alphabet is left out, so that there are fewer bytes.
  const length = Buffer.from(bytes.buffer).write(text, 'base64');
  return length === bytes.length ? bytes : null;
}
