/** Work in the background: items wait in the order in which they were added and are handled in a few lanes. */
export interface LaneQueue<T> {
  /** Does nothing for an item that waits already. Drops the item while too many wait. */
  add(item: T): void;
  /** Drops the items that wait. */
  leaveWaiting(): void;
  /** Resolves when nothing waits or runs. */
  idle(): Promise<void>;
}

/** A lane starts with an item that finds less than `lanes` of them, and ends when nothing waits. `work` must not reject. */
export function createLaneQueue<T>(
  { lanes, waitingMax }: { lanes: number; waitingMax: number },
  work: (item: T) => Promise<void>,
): LaneQueue<T> {
  const waiting = new Set<T>();
  const running = new Set<Promise<void>>();
  // Apart from `running`, whose promises leave it a moment after the last item: an item that is added then needs a lane of its own.
  let active = 0;
  const lane = async (): Promise<void> => {
    // Also takes the items that are added meanwhile.
    for (const item of waiting) {
      waiting.delete(item);
      await work(item);
    }
    active -= 1;
  };
  return {
    add(item) {
      if (waiting.size >= waitingMax) return;
      waiting.add(item);
      if (active >= lanes) return;
      active += 1;
      const one = lane().finally(() => running.delete(one));
      running.add(one);
    },
    leaveWaiting: () => waiting.clear(),
    async idle() {
      while (running.size > 0) await Promise.all(running);
    },
  };
}
