import { createHmac, hash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_CHARACTERS = 40;
const CHECKSUM_CHARACTERS = 6;

/** A new API key: `sk-`, 40 random base62 characters (238 bits), and the 6 base62 digits of their CRC32. */
export const generateApiKey = (): string => generateSecret('sk-');

/** A new admin token, of the same form. */
export const generateAdminToken = (): string => generateSecret(adminTokenPrefix);

export const adminTokenPrefix = 'adm_';

/** The secret of a session of the console. */
export const generateSessionSecret = (): string => generateSecret('ses_');

function generateSecret(prefix: string): string {
  let body = '';
  // randomInt has no modulo bias, so every character is equally likely.
  for (let index = 0; index < RANDOM_CHARACTERS; index += 1) body += BASE62[randomInt(BASE62.length)];
  return `${prefix}${body}${checksumOf(body)}`;
}

/**
 * Whether a text has the format and the checksum of our keys, for secret scanners. Any single changed character breaks it. Never a reason
 * to refuse a key: keys imported from the old platform have no checksum (rules "Keys and auth").
 */
export function apiKeyChecksumOk(key: string): boolean {
  const match = OURS.exec(key);
  return match?.[1] !== undefined && match[2] === checksumOf(match[1]);
}

/** Whether a header value could be a key: printable ASCII without spaces, at most 512 characters. */
export function isPlausibleApiKey(text: string): boolean {
  return /^[\x21-\x7e]{1,512}$/.test(text);
}

/**
 * The digest that is stored and looked up in place of a key: HMAC-SHA256 under the pepper, 32 bytes. A slow hash is not needed,
 * because keys are random. Without the pepper, an attacker can neither test keys against a stolen table nor insert a key into it.
 */
export function digestApiKey(key: string, pepper: Buffer): Buffer {
  return createHmac('sha256', pepper).update(key, 'utf8').digest();
}

/** Every form in which a secret may be stored: its digest under each pepper and, until the first use of an imported key, its plain digest. */
export const digestsOfApiKey = (key: string, peppers: readonly { secret: Buffer }[]): Buffer[] => [
  ...peppers.map((pepper) => digestApiKey(key, pepper.secret)),
  plainDigestOf(key),
];

/** The pepper id of a secret that is stored as its SHA-256 alone. */
export const plainPepperId = 'sha256';

/** SHA-256, as LiteLLM stores a key. */
export const plainDigestOf = (key: string): Buffer => hash('sha256', key, 'buffer');

/** The parts of a key that may be shown and logged. */
export function displayPartsOf(key: string): { prefix: string; last4: string } {
  return { prefix: key.slice(0, 8), last4: key.slice(-4) };
}

const OURS = new RegExp(`^sk-([0-9A-Za-z]{${RANDOM_CHARACTERS}})([0-9A-Za-z]{${CHECKSUM_CHARACTERS}})$`);

function checksumOf(body: string): string {
  let rest = crc32(body);
  let digits = '';
  for (let index = 0; index < CHECKSUM_CHARACTERS; index += 1) {
    digits = `${BASE62[rest % BASE62.length]}${digits}`;
    rest = Math.floor(rest / BASE62.length);
  }
  return digits;
}
