/**
 * The candidate that a misspelt word most likely means, or undefined if none is near: it begins with the word, of three letters or more, or
 * at most a third of its letters differ. Upper and lower case count as equal.
 */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  if (word.length > WORD_MAX) return undefined;
  let best: string | undefined;
  let least = Infinity;
  for (const candidate of candidates) {
    const most = Math.max(1, Math.floor(Math.max(word.length, candidate.length) / 3));
    const isBeginning = word.length > 2 && candidate.toLowerCase().startsWith(word.toLowerCase());
    const difference = Math.abs(candidate.length - word.length);
    if (difference > most && !isBeginning) continue;
    const distance = isBeginning ? Math.min(1, difference) : editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance <= most && distance < least) [best, least] = [candidate, distance];
  }
  return best;
}

/** The end of a message about an unknown name: a suggestion, or nothing. */
export const didYouMean = (word: string, candidates: Iterable<string>): string => {
  const candidate = nearest(word, candidates);
  return candidate === undefined || candidate === word ? '' : ` Did you mean ${candidate}?`;
};

/** Longer than any name, so that a long word costs nothing. */
const WORD_MAX = 64;

/** How many letters must be added, removed or replaced (Levenshtein). */
function editDistance(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, column) => column);
  for (const [line, letter] of [...left].entries()) {
    const next = [line + 1];
    for (let column = 1; column <= right.length; column += 1) {
      const replaced = (row[column - 1] ?? 0) + (letter === right[column - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[right.length] ?? 0;
}
