/**
 * Runs `work` for each item, at most `lanes` at a time, and resolves when all have ended. `work` must not reject. If it returns
 * `'end_lane'`, this lane takes no more items.
 */
export async function inLanes<T>(
  items: readonly T[],
  lanes: number,
  work: (item: T) => Promise<void | 'end_lane'>,
): Promise<void> {
  const waiting = items.values();
  const lane = async (): Promise<void> => {
    for (const item of waiting) if ((await work(item)) === 'end_lane') return;
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}
