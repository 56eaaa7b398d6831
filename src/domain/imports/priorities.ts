const priorityMax = 10_000;

/**
 * The priorities of another program, where the highest is tried first, as those here, where the lowest is: the highest becomes 1, and each
 * different one the next number.
 */
export function readPriorities(priorities: readonly number[]): (priority: number) => number {
  const order = [...new Set(priorities)].sort((a, b) => b - a);
  return (priority) => Math.min(priorityMax, order.indexOf(priority) + 1);
}
