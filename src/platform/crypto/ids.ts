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
  // 48 bits of time and twice 40 random bits: each is exact as a number and fills whole characters.
  let last = { time: 0, high: 0, low: 0 };
  return () => {
    const dice = random(10);
    const fresh = { time: now(), high: dice.readUIntBE(0, 5), low: dice.readUIntBE(5, 5) };
    // The step is random, so that ids of the same millisecond cannot be guessed from each other.
    last = isGreater(fresh, last) ? fresh : plus(last, 1 + random(6).readUIntBE(0, 6));
    return `${toBase32(last.time, 5)}${toBase32(last.high, 4)}${toBase32(last.low, 4)}`;
  };
}

interface Body {
  time: number;
  high: number;
  low: number;
}

const HALF = 2 ** 40;

const isGreater = (one: Body, other: Body): boolean =>
  one.time !== other.time
    ? one.time > other.time
    : one.high !== other.high
      ? one.high > other.high
      : one.low > other.low;

function plus({ time, high, low }: Body, step: number): Body {
  const lowSum = low + step;
  const highSum = high + Math.floor(lowSum / HALF);
  return { time: time + Math.floor(highSum / HALF), high: highSum % HALF, low: lowSum % HALF };
}

const POOL_BYTES = 4_096;

/** Random bytes in blocks, because one system call per id costs more than the rest of the id. */
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

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
// 26 characters carry 130 bits, so the first one never exceeds 7.
const BODY = /^[0-7][0-9a-hjkmnp-tv-z]{25}$/;

const PAIRS = Array.from(ALPHABET, (first) => Array.from(ALPHABET, (second) => first + second)).flat();

/** The lowest `pairs` × 10 bits of a safe integer, two characters for each ten. */
function toBase32(value: number, pairs: number): string {
  let text = '';
  let rest = value;
  for (let pair = 0; pair < pairs; pair += 1) {
    text = `${PAIRS[rest % 1_024] ?? ''}${text}`;
    rest = Math.floor(rest / 1_024);
  }
  return text;
}
