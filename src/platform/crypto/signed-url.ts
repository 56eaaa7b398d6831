import { createHmac, createSecretKey, timingSafeEqual, type KeyObject } from 'node:crypto';
import { isId } from './ids.ts';

export interface UrlSigner {
  /** The public URL of a file until `expiresAtUnixSeconds`. The same file and expiry always give the same URL. */
  sign(fileId: string, expiresAtUnixSeconds: number): string;
  /** Whether the query of such a URL has a valid signature and has not expired. Never throws. */
  verify(fileId: string, expires: string, signature: string, nowUnixSeconds: number): boolean;
  /** The id of the file in one of our URLs; its query is not checked. Null for any other text. Never throws. */
  fileIdOf(url: string): string | null;
}

/**
 * Signed file URLs, `{baseUrl}/files/{id}?expires=…&signature=…` (HMAC-SHA256). They have no random part, so that the poll and the
 * callback of a task carry equal URLs. The first key signs and all keys verify, so that a rotation invalidates no live URL.
 */
export function createUrlSigner({ keys: secrets, baseUrl }: { keys: readonly Buffer[]; baseUrl: string }): UrlSigner {
  // Node takes seven times as long to sign with a key that is given as bytes.
  const keys = secrets.map((secret) => createSecretKey(secret));
  const [signingKey] = keys;
  if (!signingKey) throw new Error('a URL signer needs a key');
  const base = baseUrl.replace(/\/+$/, '');
  // Normalised by the URL parser, because `https://HOST:443` and `https://host` are the same origin.
  const filesAt = `${(URL.parse(base)?.href ?? base).replace(/\/+$/, '')}/files/`;

  return {
    sign(fileId, expiresAtUnixSeconds) {
      const expires = String(Math.floor(expiresAtUnixSeconds));
      const signature = macOf(signingKey, fileId, expires).toString('base64url');
      return `${base}/files/${encodeURIComponent(fileId)}?expires=${expires}&signature=${signature}`;
    },

    verify(fileId, expires, signature, nowUnixSeconds) {
      if (!/^\d{1,12}$/.test(expires) || !/^[\w-]{43}$/.test(signature)) return false;
      const mac = Buffer.from(signature, 'base64url');
      // Every key is tried, even after a match, so that the duration reveals nothing.
      const fits = keys.filter((key) => timingSafeEqual(macOf(key, fileId, expires), mac));
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

const macOf = (key: KeyObject, fileId: string, expires: string): Buffer =>
  createHmac('sha256', key).update(`${fileId}\n${expires}`, 'utf8').digest();
