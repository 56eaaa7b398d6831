import { createHash, hash } from 'node:crypto';

/** SHA-256 in lower-case hexadecimal. */
export const sha256Hex = (text: string | Buffer): string => createHash('sha256').update(text).digest('hex');

/** A strong entity tag of the bytes of a body (RFC 9110 §8.8.3). */
export const etagOf = (body: Buffer): string => `"${hash('sha256', body, 'base64url').slice(0, 22)}"`;

/** A short in-memory name of a text that itself must not be kept. */
export const nameOfText = (text: string): string => hash('sha256', text, 'base64');

/** A number in [0, 1) that belongs to the text, evenly spread over texts. */
export const unitHash = (text: string): number => hash('sha256', text, 'buffer').readUIntBE(0, 6) / 2 ** 48;
