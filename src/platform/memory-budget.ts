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
  /** Owners in the order of their turns. */
  const lines = new Map<string, Waiter[]>();

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
    for (const [owner, line] of lines) {
      const first = line[0];
      if (first && held + first.bytes > maxBytes) return;
      line.shift();
      // An owner with more requests goes to the end of the order.
      lines.delete(owner);
      if (line.length > 0) lines.set(owner, line);
      if (!first) continue;
      held += first.bytes;
      first.enter(release(first.bytes));
    }
  };
  const leave = (owner: string, waiter: Waiter): void => {
    const line = lines.get(owner) ?? [];
    const at = line.indexOf(waiter);
    if (at < 0) return;
    line.splice(at, 1);
    if (line.length === 0) lines.delete(owner);
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
        const line = lines.get(owner);
        if (line) line.push(waiter);
        else lines.set(owner, [waiter]);
        admit();
      });
    },
  };
}

interface Waiter {
  bytes: number;
  enter(giveBack: () => void): void;
}
