import { createHash, hash } from 'node:crypto';

/** SHA-256 in lower-case hexadecimal. */
export const sha256Hex = (text: string | Buffer): string => createHash('sha256').update(text).digest('hex');

/** A short name for a text in this process's memory, where the text itself must not lie around. */
export const nameOfText = (text: string): string => hash('sha256', text, 'base64');
