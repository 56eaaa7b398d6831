/** JSON, as an entry of the catalog is. */
type Json = null | boolean | number | string | Json[] | { [member: string]: Json };

/**
 * An entry with the changes of two people: what `mine` and what `theirs` changed of `base`. Where both changed the same member, `mine` stands. A list
 * is merged item by item if all three have the same length.
 */
export function mergeEntries(base: unknown, mine: unknown, theirs: unknown): unknown {
  return merge(base as Json, mine as Json, theirs as Json);
}

function merge(base: Json | undefined, mine: Json | undefined, theirs: Json | undefined): Json | undefined {
  if (isSame(mine, base)) return theirs;
  if (isSame(theirs, base)) return mine;
  if (isObject(base) && isObject(mine) && isObject(theirs)) {
    const names = [...new Set([...Object.keys(theirs), ...Object.keys(mine)])];
    const members = names.map((name) => [name, merge(base[name], mine[name], theirs[name])] as const);
    return Object.fromEntries(members.filter((member): member is [string, Json] => member[1] !== undefined));
  }
  if (Array.isArray(base) && Array.isArray(mine) && Array.isArray(theirs)) {
    const isAligned = base.length === mine.length && base.length === theirs.length;
    if (isAligned) return base.map((item, index) => merge(item, mine[index], theirs[index]) ?? null);
  }
  return mine;
}

/** The members' order does not count. */
function isSame(one: Json | undefined, other: Json | undefined): boolean {
  if (isObject(one) && isObject(other)) {
    const names = [...new Set([...Object.keys(one), ...Object.keys(other)])];
    return names.every((name) => isSame(one[name], other[name]));
  }
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((item, index) => isSame(item, other[index]));
  return one === other;
}

const isObject = (value: Json | undefined): value is { [member: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
