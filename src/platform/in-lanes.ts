/**
 * Runs `work` for each item, at most `lanes` at a time. A lane whose work returns `'end_lane'` takes no more items; if all lanes end so, the
 * other items are left out. After an error no lane takes another item, and it rejects once the work that runs has ended.
 */
export async function inLanes<T>(
  items: readonly T[],
  lanes: number,
  work: (item: T) => Promise<void | 'end_lane'>,
): Promise<void> {
  // All lanes take from one iterator. That of an array has no `return`, so a lane that leaves its loop does not end it for the others.
  const waiting = items.values();
  let hasFailed = false;
  const lane = async (): Promise<void> => {
    for (const item of waiting) {
      if (hasFailed) return;
      try {
        if ((await work(item)) === 'end_lane') return;
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: lanes }, lane));
  for (const each of ended) if (each.status === 'rejected') throw each.reason;
}
