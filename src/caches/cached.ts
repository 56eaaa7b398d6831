export interface Cached<T> {
  get(): Promise<T>;
  forget(): void;
}

/** Remembers what `load` answered for `keptMs`; callers at the same moment share one load. A failed load is not remembered. */
export function createCached<T>(keptMs: number, load: () => Promise<T>): Cached<T> {
  let loading: Promise<T> | null = null;
  let freshUntil = 0;
  let generation = 0;
  return {
    get() {
      if (loading && performance.now() < freshUntil) return loading;
      const mine = ++generation;
      freshUntil = performance.now() + keptMs;
      loading = load().catch((error: unknown) => {
        if (mine === generation) loading = null;
        throw error;
      });
      return loading;
    },
    forget() {
      freshUntil = 0;
    },
  };
}
