/** More pages than any provider takes (1,000). A count above it is as good as no bound. */
const PAGES_MAX = 10_000;

/** A letter or digit that is written as a number inside a name. No honest writer does so; it would hide a name from a search. */
const disguised = /#(?:3[0-9]|4[1-9A-Fa-f]|5[0-9Aa]|6[1-9A-Fa-f]|7[0-9Aa])/;
const header = /(\d{1,10})\s+\d{1,5}\s+obj\b/g;
const reference = /(\d{1,10})\s+\d{1,5}\s+R\b/g;

/** The object that a stream belongs to, and its dictionary. */
interface ReadSegment {
  number: number | null;
  dictionary: string;
}

/**
 * The tree of pages of a document, from the texts of its objects in any order (ISO 32000-1, 7.7.3). A document that was changed has several versions of
 * an object, of which the one with the most pages counts. A node that stands in the tree several times counts each time.
 */
export class PageTree {
  /** The lists of children of each node, one for each of its versions. */
  readonly #kids = new Map<number, number[][]>();
  readonly #roots = new Set<number>();
  /** How often pages name an object as what they show. */
  readonly #uses = new Map<number, number>();
  #leaves = 0;

  /**
   * Reads the text between two streams. The last object in it may be that of the stream which follows. Null for a text that a reader of PDF might
   * understand otherwise.
   */
  read(text: string): ReadSegment | null {
    let number: number | null = null;
    let start = 0;
    for (const found of text.matchAll(header)) {
      if (!this.#readObject(number, text.slice(start, found.index))) return null;
      number = Number(found[1]);
      start = found.index + found[0].length;
    }
    const dictionary = text.slice(start);
    return this.#readObject(number, dictionary) ? { number, dictionary } : null;
  }

  /** Reads a decoded stream that has objects in it (7.5.7). Any other stream is left as it is. Returns false where `read` returns null. */
  readObjects(data: Buffer, { dictionary, bytesMax }: { dictionary: string; bytesMax: number }): boolean {
    if (!['/Kids', '/Pages', '/Contents'].some((name) => data.includes(name))) return true;
    const first = Number(/\/First\s+(\d{1,9})\b/.exec(dictionary)?.[1] ?? NaN);
    if (!Number.isSafeInteger(first)) return !/\/ObjStm\b/.test(dictionary) && !data.includes('/Kids');
    if (data.length > bytesMax) return false;
    const text = data.toString('latin1');
    const pairs =
      text
        .slice(0, first)
        .match(/\d{1,10}/g)
        ?.map(Number) ?? [];
    for (let index = 0; index + 1 < pairs.length; index += 2) {
      const next = pairs[index + 3];
      const from = first + (pairs[index + 1] ?? 0);
      const object = text.slice(from, next === undefined ? undefined : Math.max(from, first + next));
      if (!this.#readObject(pairs[index] ?? 0, object)) return false;
    }
    return true;
  }

  #readObject(number: number | null, text: string): boolean {
    if (disguised.test(text) || /\/Encrypt\b/.test(text)) return false;
    for (const [, root] of text.matchAll(/\/Pages\s+(\d{1,10})\s+\d{1,5}\s+R\b/g)) this.#roots.add(Number(root));
    this.#leaves += text.match(/\/Type\s*\/Page(?![A-Za-z])/g)?.length ?? 0;
    for (const [, list, single] of text.matchAll(/\/Contents\s*(?:\[([^\][]*)\]|(\d{1,10})\s+\d{1,5}\s+R\b)/g)) {
      const used = single === undefined ? referencesIn(list ?? '') : [Number(single)];
      for (const one of used ?? []) this.#uses.set(one, (this.#uses.get(one) ?? 0) + 1);
    }
    return this.#readKids(number, text);
  }

  #readKids(number: number | null, text: string): boolean {
    const named = text.match(/\/Kids\b/g)?.length ?? 0;
    const lists = [...text.matchAll(/\/Kids\s*\[([^\][]*)\]/g)].flatMap(([, list]) => {
      const references = referencesIn(list ?? '');
      return references === null ? [] : [references];
    });
    if (lists.length !== named || (named > 0 && number === null)) return false;
    if (number !== null && named > 0) this.#kids.set(number, [...(this.#kids.get(number) ?? []), ...lists]);
    return true;
  }

  /** How often pages show this object; at least 1. */
  uses = (object: number | null): number => Math.max(1, (object !== null && this.#uses.get(object)) || 1);

  /** The most pages that the document can have; null if that is not known. */
  pages(): number | null {
    const counts = new Map<number, number>();
    let most = 0;
    try {
      for (const root of this.#roots) {
        if (!this.#kids.has(root)) return null;
        most = Math.max(most, this.#below(root, counts));
      }
    } catch (error) {
      // A tree that is too deep for the stack.
      if (error instanceof RangeError) return null;
      throw error;
    }
    const pages = Math.max(most, this.#leaves);
    return most > 0 && pages <= PAGES_MAX ? pages : null;
  }

  /** The pages below a node; Infinity for one that is below itself, or for too many. */
  #below(node: number, counts: Map<number, number>): number {
    const before = counts.get(node);
    if (before !== undefined) return before;
    const versions = this.#kids.get(node);
    if (!versions) return 1;
    counts.set(node, Infinity);
    let most = 0;
    for (const list of versions) {
      let sum = 0;
      for (const kid of list) {
        sum += this.#below(kid, counts);
        if (sum > PAGES_MAX) break;
      }
      most = Math.max(most, sum);
    }
    const pages = most > PAGES_MAX ? Infinity : most;
    counts.set(node, pages);
    return pages;
  }
}

/** The numbers of the objects that a list names; null if it has anything else in it. */
function referencesIn(list: string): number[] | null {
  const numbers = [...list.matchAll(reference)].map(([, number]) => Number(number));
  return list.replaceAll(reference, '').trim() === '' ? numbers : null;
}
