/** Bytes that everybody in this process may hold together; who finds no room waits for it. */
export interface MemoryBudget {
  readonly maxBytes: number;
  /**
   * Resolves with what gives the bytes back, once there is room; null when `signal` fired first. Owners take turns and each
   * one's own wait in order. Whoever's turn it is keeps it until there is room, so nobody waits for ever behind smaller ones.
   * More than `maxBytes` never finds room.
   */
  take(bytes: number, options: { owner: string; signal: AbortSignal }): Promise<(() => void) | null>;
}

export function createMemoryBudget(maxBytes: number): MemoryBudget {
  let held = 0;
  /** In the order of their turns. */
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
      // To the end of the turns, if it still waits for more.
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
    // It may have been what the others waited behind.
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
