import { accessSync, constants } from 'node:fs';
import { z } from 'zod';

const notNumber = 'must be a number';

/** The environment variable of every declared setting, by its schema. */
export const environmentNames = z.registry<{ name: string }>();

/**
 * Declares one setting: its environment variable, and its value with default and bounds. Add `.describe` with what it is for, its
 * unit, and the reason for its size where that is not plain: `docs/CONFIGURATION.md` shows it.
 */
export function setting<Schema extends z.ZodType>(name: string, schema: Schema): Schema {
  environmentNames.add(schema, { name });
  return schema;
}

/** The names of the fixed numbers by which tests change them, by schema. Up to 0.2.0 they were settings. */
export const fixedNames = z.registry<{ name: string }>();

/**
 * Declares a number that needs no tuning: it is in `Config`, but the environment does not set it. Up to 0.2.0 it was the setting
 * `name`, which a start ignores with a warning. Add `.describe` as for a setting.
 */
export function fixedNumber(name: string, value: number) {
  const schema = z.coerce.number(notNumber).min(0).default(value);
  fixedNames.add(schema, { name });
  return schema;
}

/** The environment variables of all secrets. */
export const secretNames = new Set<string>();

/** Declares a setting that is a secret, which `NAME_FILE` may name a file of instead. */
export function secret<Schema extends z.ZodType>(name: string, schema: Schema): Schema {
  secretNames.add(name);
  return setting(name, schema);
}

/** A whole number. */
export const integer = (name: string, fallback: number, { min = 0, max = Number.MAX_SAFE_INTEGER } = {}) =>
  setting(name, z.coerce.number(notNumber).int().min(min).max(max).default(fallback));

/** A time in seconds, fractions allowed. */
export const duration = (name: string, fallback: number) =>
  setting(name, z.coerce.number(notNumber).min(0).default(fallback));

/** Null when there is no such listener. */
export const optionalPort = (name: string) =>
  setting(name, z.coerce.number(notNumber).int().min(0).max(65_535).nullable().default(null));

/** A whole number of 1 or more that fits the database's `int`; null when it is empty. */
export const optionalLimit = (name: string) =>
  setting(name, z.coerce.number(notNumber).int().min(1).max(2_147_483_647).nullable().default(null));

export const flagSetting = (name: string) =>
  setting(
    name,
    z
      .enum(['true', 'false', '1', '0', ''])
      .default('false')
      .transform((text) => text === 'true' || text === '1'),
  );

export const textSetting = (name: string, fallback: string) => setting(name, z.string().default(fallback));

/** The words of a list with commas, without the spaces around them. */
export const splitWords = (words: string): string[] =>
  words
    .split(',')
    .map((word) => word.trim())
    .filter(Boolean);

/** Words separated by commas. */
export const wordList = z.string().default('').transform(splitWords);

/** Seconds separated by commas. */
export const secondsList = (name: string, fallback: string) =>
  setting(
    name,
    z
      .string()
      .default(fallback)
      .transform((words) => words.split(',').map(Number))
      .refine(
        (items) => items.every((item) => Number.isFinite(item) && item >= 0),
        'must be numbers separated by commas',
      ),
  );

/** Empty, or a URL with one of the schemes. */
export const urlOfScheme = (...schemes: string[]) =>
  z
    .string()
    .refine(
      (value) => value === '' || schemes.includes(URL.parse(value)?.protocol.slice(0, -1) ?? ''),
      `must be a URL that begins with ${schemes.map((scheme) => `${scheme}://`).join(' or ')}`,
    );
export const databaseUrl = urlOfScheme('postgresql', 'postgres');
export const httpUrl = (name: string) => setting(name, urlOfScheme('http', 'https').default(''));

/** An origin exactly as browsers send it: scheme and host, no path. */
export const isOrigin = (value: string): boolean => URL.parse(value)?.origin === value;

/** The same of a page within a program, which has a scheme of its own: `app://obsidian.md`, `chrome-extension://…`. */
export function isProgramOrigin(value: string): boolean {
  const url = URL.parse(value);
  // `URL` calls the origin of such a scheme `null`.
  return url?.origin === 'null' && url.host !== '' && `${url.protocol}//${url.host}` === value;
}

/** Empty, or the address of an identity provider (OpenID Connect Core 1.0 §2, `iss`). Plain http is for tests on this machine. */
export function isIssuer(value: string): boolean {
  const url = URL.parse(value);
  if (!url) return value === '';
  const isLoopback = ['127.0.0.1', '[::1]', 'localhost'].includes(url.hostname);
  return (url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback)) && !/[?#]/.test(value);
}

export const isPort = (value: string): boolean =>
  /^\d{1,5}$/.test(value) && Number(value) >= 1 && Number(value) <= 65_535;

export const readableFile = (name: string) =>
  setting(
    name,
    z
      .string()
      .default('')
      .refine((path) => path === '' || isReadable(path), 'must name a file that this process may read'),
  );

function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

/** A provider's API key. It is sent in a header unchanged. */
export const providerKey = (name: string) =>
  secret(
    name,
    z
      .string()
      .trim()
      .regex(/^[\x21-\x7e]{0,1000}$/, 'must be a key: one word of plain ASCII characters')
      .default(''),
  );

/** `id:base64` pairs. The first one writes, all of them read. Each secret has at least 32 bytes. */
export const keyRing = (exactBytes?: number) =>
  z.string().transform((value, context) => {
    const ring = splitWords(value).map((item) => {
      const at = item.indexOf(':');
      return { id: item.slice(0, Math.max(at, 0)), secret: Buffer.from(item.slice(at + 1), 'base64') };
    });
    const good = ring.every(
      ({ id, secret }) =>
        /^[a-z0-9]{1,16}$/i.test(id) && (exactBytes ? secret.length === exactBytes : secret.length >= 32),
    );
    if (ring.length === 0 || !good || new Set(ring.map(({ id }) => id)).size !== ring.length) {
      context.addIssue({
        code: 'custom',
        message: `must be id:base64 pairs separated by commas, each secret ${exactBytes ? '' : 'at least '}32 bytes`,
      });
      return z.NEVER;
    }
    return ring;
  });
