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

/** Whether `text` has the format of an id with this prefix. Does not check that it exists. */
export function isId(prefix: IdPrefix, text: string): boolean {
  return text.length === prefix.length + 27 && text.startsWith(`${prefix}_`) && BODY.test(text.slice(-26));
}

interface Sources {
  /** Unix milliseconds. */
  now: () => number;
  randomBytes: (count: number) => Buffer;
}

/** The generator behind `newId`, with an injected clock and random source. Each call returns a greater body than the last. */
export function createIdBodies({ now, randomBytes: random }: Sources): () => string {
  // 48 bits of time, then 80 random bits.
  let last = 0n;
  return () => {
    const fresh = (BigInt(now()) << 80n) + toBigInt(random(10));
    // The step is random, so that ids of the same millisecond cannot be guessed from each other.
    last = fresh > last ? fresh : last + 1n + toBigInt(random(6));
    return last
      .toString(32)
      .padStart(26, '0')
      .replace(/[i-v]/g, (digit) => ALPHABET.charAt(parseInt(digit, 32)));
  };
}

const toBigInt = (bytes: Buffer): bigint => BigInt(`0x${bytes.toString('hex')}`);

/** Crockford's digits. Up to `h` they are those of `toString(32)`. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
// 26 characters carry 130 bits, so the first one never exceeds 7.
const BODY = /^[0-7][0-9a-hjkmnp-tv-z]{25}$/;

const POOL_BYTES = 4_096;

/** Random bytes in blocks, because one system call per id costs as much as the rest of the id. */
function pooledRandomBytes(): (count: number) => Buffer {
  let pool = Buffer.alloc(0);
  return (count) => {
    if (pool.length < count) pool = randomBytes(POOL_BYTES);
    const taken = pool.subarray(0, count);
    pool = pool.subarray(count);
    return taken;
  };
}

const nextOfProcess = createIdBodies({ now: Date.now, randomBytes: pooledRandomBytes() });
