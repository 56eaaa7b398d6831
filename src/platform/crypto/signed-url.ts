import { createHmac, timingSafeEqual } from 'node:crypto';
import { isId } from './ids.ts';

export interface UrlSigner {
  /** The public URL of a file until `expiresAtUnixSeconds`; always the same for the same file and expiry. */
  sign(fileId: string, expiresAtUnixSeconds: number): string;
  /** Whether the query of such a URL is ours and not yet over. Never throws, whatever was sent. */
  verify(fileId: string, expires: string, signature: string, nowUnixSeconds: number): boolean;
  /** The file that a URL of ours names, whatever its query says; null for every other text. Never throws. */
  fileIdOf(url: string): string | null;
}

/**
 * Signed file URLs, `{baseUrl}/files/{id}?expires=…&signature=…` (HMAC-SHA256). Nothing random goes in, so the poll and
 * the callback of a task carry equal URLs. The first key signs and all keys verify, so a rotation ends no live URL.
 */
export function createUrlSigner({ keys, baseUrl }: { keys: readonly Buffer[]; baseUrl: string }): UrlSigner {
  const [signingKey] = keys;
  if (!signingKey) throw new Error('a URL signer needs a key');
  const base = baseUrl.replace(/\/+$/, '');
  // As the URL parser writes it, for `https://HOST:443` and `https://host` are the same place.
  const filesAt = `${(URL.parse(base)?.href ?? base).replace(/\/+$/, '')}/files/`;

  return {
    sign(fileId, expiresAtUnixSeconds) {
      const expires = String(Math.floor(expiresAtUnixSeconds));
      const signature = macOf(signingKey, fileId, expires).toString('base64url');
      return `${base}/files/${encodeURIComponent(fileId)}?expires=${expires}&signature=${signature}`;
    },

    verify(fileId, expires, signature, nowUnixSeconds) {
      if (!/^\d{1,12}$/.test(expires) || !/^[\w-]{43}$/.test(signature)) return false;
      const given = Buffer.from(signature, 'base64url');
      // Every key is tried, whichever fits, so that the time taken tells nothing.
      const fits = keys.filter((key) => timingSafeEqual(macOf(key, fileId, expires), given));
      return fits.length > 0 && nowUnixSeconds < Number(expires);
    },

    fileIdOf(text) {
      if (text.length > URL_MAX || !text.startsWith('http')) return null;
      const url = URL.parse(text);
      if (!url || url.username !== '' || url.password !== '') return null;
      const path = `${url.origin}${url.pathname}`;
      const id = path.startsWith(filesAt) ? path.slice(filesAt.length) : '';
      return isId('file', id) ? id : null;
    },
  };
}

const URL_MAX = 2_048;

const macOf = (key: Buffer, fileId: string, expires: string): Buffer =>
  createHmac('sha256', key).update(`${fileId}\n${expires}`, 'utf8').digest();
