import { createHash, hash } from 'node:crypto';

/** SHA-256 in lower-case hexadecimal. */
export const sha256Hex = (text: string | Buffer): string => createHash('sha256').update(text).digest('hex');

/** A short in-memory name of a text that itself must not be kept. */
export const nameOfText = (text: string): string => hash('sha256', text, 'base64');
