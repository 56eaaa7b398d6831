import { createHmac, timingSafeEqual } from 'node:crypto';

export interface UrlSigner {
  /** The public URL of a file until `expiresAtUnixSeconds`; always the same for the same file and expiry. */
  sign(fileId: string, expiresAtUnixSeconds: number): string;
  /** Whether the query of such a URL is ours and not yet over. Never throws, whatever was sent. */
  verify(fileId: string, expires: string, signature: string, nowUnixSeconds: number): boolean;
}

/**
 * Signed file URLs, `{baseUrl}/files/{id}?expires=…&signature=…` (HMAC-SHA256). Nothing random goes in, so the poll and
 * the callback of a task carry equal URLs. The first key signs and all keys verify, so a rotation ends no live URL.
 */
export function createUrlSigner({ keys, baseUrl }: { keys: readonly Buffer[]; baseUrl: string }): UrlSigner {
  const [signingKey] = keys;
  if (!signingKey) throw new Error('a URL signer needs a key');
  const base = baseUrl.replace(/\/+$/, '');

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
  };
}

const macOf = (key: Buffer, fileId: string, expires: string): Buffer =>
  createHmac('sha256', key).update(`${fileId}\n${expires}`, 'utf8').digest();
