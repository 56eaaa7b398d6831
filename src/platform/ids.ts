import { randomBytes } from 'node:crypto';

/** What an id names: project, key, task, channel, file, request, attempt, delivery, job run, event, secret. */
export type IdPrefix = 'prj' | 'key' | 'task' | 'chn' | 'file' | 'req' | 'att' | 'dlv' | 'run' | 'evt' | 'sec';

/**
 * A new id: `${prefix}_` and 26 lower-case Crockford base32 characters, 48 bits of milliseconds and 80 random bits
 * (the layout of a ULID). Ids of one process sort in the order they were made, also when its clock steps back.
 */
export function newId(prefix: IdPrefix): string {
  return `${prefix}_${nextOfProcess()}`;
}

/** Whether `text` has the shape of an id with this prefix. Says nothing about whether it exists. */
export function isId(prefix: IdPrefix, text: string): boolean {
  return text.length === prefix.length + 27 && text.startsWith(`${prefix}_`) && BODY.test(text.slice(-26));
}

interface Sources {
  /** Unix milliseconds. */
  now: () => number;
  randomBytes: (count: number) => Buffer;
}

/** The generator behind `newId`, with its clock and its dice handed in. Each call gives a greater body than the last. */
export function createIdBodies({ now, randomBytes: random }: Sources): () => string {
  let last = 0n;
  return () => {
    const fresh = (BigInt(now()) << 80n) | BigInt(`0x${random(10).toString('hex')}`);
    // A random step, not one: neighbours of the same millisecond must not be guessable from each other.
    last = fresh > last ? fresh : last + 1n + BigInt(random(6).readUIntBE(0, 6));
    return toBase32(last);
  };
}

const nextOfProcess = createIdBodies({ now: Date.now, randomBytes });

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
// 26 characters carry 130 bits, so the first one never exceeds 7.
const BODY = /^[0-7][0-9a-hjkmnp-tv-z]{25}$/;

function toBase32(value: bigint): string {
  let text = '';
  for (let shift = 125n; shift >= 0n; shift -= 5n) text += ALPHABET[Number((value >> shift) & 31n)];
  return text;
}
