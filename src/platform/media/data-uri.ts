/** A decoded `data:` URI, or the reason why it was refused. */
export type DataUri =
  { kind: 'ok'; mimeType: string; bytes: Buffer } | { kind: 'refused'; reason: 'malformed' | 'too_large' };

/**
 * Decodes a base64 `data:` URI (RFC 2397) of at most `maxBytes` decoded bytes. Only base64 is accepted, because media is sent that
 * way. The type is the sender's claim: check the bytes.
 */
export function decodeDataUri(text: string, { maxBytes }: { maxBytes: number }): DataUri {
  const comma = text.slice(0, HEADER_MAX).indexOf(',');
  const header = HEADER.exec(text.slice(0, Math.max(comma, 0)));
  if (!header) return { kind: 'refused', reason: 'malformed' };

  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  const characters = text.length - comma - 1 - padding;
  // Checked before decoding, so that an oversized text costs no second copy.
  if (Math.floor((characters * 3) / 4) > maxBytes) return { kind: 'refused', reason: 'too_large' };

  const body = text.slice(comma + 1);
  const wellFormed = characters > 0 && characters % 4 !== 1 && (padding === 0 || body.length % 4 === 0);
  if (!wellFormed || !/^[A-Za-z0-9+/]+={0,2}$/.test(body)) return { kind: 'refused', reason: 'malformed' };
  return { kind: 'ok', mimeType: (header[1] ?? 'text/plain').toLowerCase(), bytes: Buffer.from(body, 'base64') };
}

const HEADER_MAX = 256;
const HEADER = /^data:([\w.+-]{1,64}\/[\w.+-]{1,64})?(?:;[\w-]{1,32}=[\w.+-]{1,64}){0,4};base64$/i;
