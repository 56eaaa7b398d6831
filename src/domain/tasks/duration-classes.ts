/**
 * Durations are counted in classes, so that the counts of many processes and minutes can be added up. There are eight classes for each
 * doubling: a class is 9 % wide, and a percentile read from it is wrong by half of that at most.
 */
const classesPerDoubling = 8;
/** Up to 4.3 hours, which few operators give a task. The last class has everything beyond. */
const classesMax = 24 * classesPerDoubling;

/** The class of a duration; class 0 has everything up to a millisecond. */
export const durationClass = (ms: number): number =>
  Math.min(classesMax - 1, Math.max(0, Math.ceil(Math.log2(Math.max(ms, 1)) * classesPerDoubling)));

/** The duration below which a share of the counted ones was, in milliseconds; null if none was counted. `counts` has a number for each class. */
export function durationAt(counts: readonly number[], share: number): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  // The rank of the nearest duration that was counted, from 1 on.
  const rank = Math.max(1, Math.ceil(share * total));
  let below = 0;
  for (const [index, count] of counts.entries()) {
    below += count;
    if (below >= rank) return middleOf(index);
  }
  return null;
}

const middleOf = (index: number): number => (index === 0 ? 1 : 2 ** ((index - 0.5) / classesPerDoubling));
