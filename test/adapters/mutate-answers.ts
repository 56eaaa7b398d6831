/** A generator of numbers from 0 to 1 that repeats itself for the same seed (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** What may stand in place of any value. */
const strays: readonly unknown[] = [
  null,
  '',
  ' ',
  0,
  -1,
  1e300,
  7,
  true,
  false,
  [],
  {},
  [null],
  [[]],
  { url: null },
  'undefined',
  'NaN',
  '\u0000',
  '\ud800',
  'x'.repeat(5_000),
  '../..',
  '%2f',
  { a: { b: { c: { d: { e: { f: [1] } } } } } },
  { __proto__: null, constructor: 1 },
];

/** Prose that has the words of a policy, and says nothing about one. */
export const harmlessProse: readonly string[] = [
  'CUDA out of memory while loading the safety checker',
  'image aspect ratio violates the limits',
  'Service moderately loaded, retry',
  'the moderation service is unavailable',
  'nsfw filter weights could not be loaded',
  'input tensor is sensitive to dtype float16',
  'invalid prompt: "NSFW content detected and flagged as sensitive (E005)"',
];

/** One to four changes of a JSON value: types swapped, members dropped or doubled, lists for scalars, words in another case. */
export function mutate(json: unknown, random: () => number): unknown {
  let changed = structuredClone(json);
  const changes = 1 + Math.floor(random() * 4);
  for (let n = 0; n < changes; n += 1) changed = changeOne(changed, random);
  return changed;
}

/** A change that leaves a person in no doubt: a list of one for a value, a number as text, a word in another case, one more member. */
export function mutateGently(value: unknown, random: () => number): unknown {
  if (Array.isArray(value)) {
    const at = Math.floor(random() * value.length);
    return value.map((each: unknown, index) => (index === at ? mutateGently(each, random) : each));
  }
  if (isMembers(value)) {
    const key = pick(Object.keys(value), random);
    if (key === undefined) return value;
    const isFull = Object.values(value).some((each) => each !== null && each !== '' && each !== undefined);
    if (isFull && random() < 0.1) return { ...value, one_more: pick(strays, random) };
    return {
      ...value,
      [key]: random() < 0.3 && isMembers(value[key]) ? [value[key]] : mutateGently(value[key], random),
    };
  }
  if (typeof value === 'number') return random() < 0.5 ? String(value) : [value];
  if (typeof value !== 'string') return value;
  if (/^[a-z_]{3,40}$/i.test(value) && random() < 0.6)
    return random() < 0.5 ? value.toUpperCase() : value.toLowerCase();
  return value === '' ? value : [value];
}

const pick = <T>(list: readonly T[], random: () => number): T | undefined => list[Math.floor(random() * list.length)];
const isMembers = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Changes one value somewhere below, or this one. */
function changeOne(value: unknown, random: () => number): unknown {
  const isInner = random() < 0.75;
  if (isInner && Array.isArray(value) && value.length > 0) {
    const at = Math.floor(random() * value.length);
    return value.map((each: unknown, index) => (index === at ? changeOne(each, random) : each));
  }
  if (isInner && isMembers(value)) {
    const key = pick(Object.keys(value), random);
    if (key === undefined) return value;
    const { [key]: member, ...others } = value;
    const kind = random();
    if (kind < 0.15) return others;
    if (kind < 0.25) return { ...value, [`${key}_copy`]: member };
    return { ...value, [key]: changeOne(member, random) };
  }
  const kind = random();
  if (kind < 0.3) return [value];
  if (kind < 0.4) return [value, value];
  if (kind < 0.5) return { value };
  if (kind < 0.75) return recast(value, random);
  return pick(strays, random);
}

/** The same in another type or case. */
function recast(value: unknown, random: () => number): unknown {
  if (typeof value === 'string')
    return random() < 0.5 ? value.toUpperCase() : /^\d{1,15}$/.test(value) ? Number(value) : value.toLowerCase();
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : value;
}
