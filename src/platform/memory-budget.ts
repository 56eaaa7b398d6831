/** A limit on the bytes that all users in this process hold together. A request beyond it waits. */
export interface MemoryBudget {
  readonly maxBytes: number;
  /**
   * Takes `bytes` as soon as they are free and resolves with the function that gives them back; null if `signal` fires first. Owners
   * take turns; requests of one owner keep their order. The owner whose turn it is keeps it until its request fits, so that a large
   * request never starves behind small ones. A request above `maxBytes` never fits.
   */
  take(bytes: number, options: { owner: string; signal: AbortSignal }): Promise<(() => void) | null>;
}

export function createMemoryBudget(maxBytes: number): MemoryBudget {
  let held = 0;
  /** By owner, in the order of their turns. None is empty. */
  const queues = new Map<string, Waiter[]>();

  const release = (bytes: number): (() => void) => {
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      held -= bytes;
      admit();
    };
  };
  const admit = (): void => {
    for (const [owner, queue] of queues) {
      const first = queue[0];
      if (first && held + first.bytes > maxBytes) return;
      queue.shift();
      // An owner with more requests goes to the end of the order, where this loop meets it again.
      queues.delete(owner);
      if (queue.length > 0) queues.set(owner, queue);
      if (!first) continue;
      held += first.bytes;
      first.enter(release(first.bytes));
    }
  };
  const leave = (owner: string, waiter: Waiter): void => {
    const queue = queues.get(owner) ?? [];
    const index = queue.indexOf(waiter);
    if (index < 0) return;
    queue.splice(index, 1);
    if (queue.length === 0) queues.delete(owner);
    // The removed request may have blocked the others.
    admit();
  };

  return {
    maxBytes,
    take(bytes, { owner, signal }) {
      if (signal.aborted) return Promise.resolve(null);
      return new Promise((resolve) => {
        const onAbort = (): void => {
          leave(owner, waiter);
          resolve(null);
        };
        const waiter: Waiter = {
          bytes,
          enter(giveBack) {
            signal.removeEventListener('abort', onAbort);
            resolve(giveBack);
          },
        };
        signal.addEventListener('abort', onAbort, { once: true });
        const queue = queues.get(owner);
        if (queue) queue.push(waiter);
        else queues.set(owner, [waiter]);
        admit();
      });
    },
  };
}

interface Waiter {
  bytes: number;
  enter(giveBack: () => void): void;
}
