/** Keeps the result of `load` for `keptMs`. Concurrent callers share one load. A failed load is not kept. */
export function createCached<T>(keptMs: number, load: () => Promise<T>) {
  let loading: Promise<T> | null = null;
  let freshUntil = 0;
  let generation = 0;
  return {
    get(): Promise<T> {
      if (loading && performance.now() < freshUntil) return loading;
      const mine = ++generation;
      freshUntil = performance.now() + keptMs;
      loading = load().catch((error: unknown) => {
        if (mine === generation) loading = null;
        throw error;
      });
      return loading;
    },
    forget(): void {
      freshUntil = 0;
    },
  };
}
