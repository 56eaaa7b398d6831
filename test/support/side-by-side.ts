import { beforeAll, it } from '@jest/globals';

/**
 * Declares tests of one `describe` that all run at the same time, because they wait for timers and not for each other. The first
 * of them starts them all; each reports its own result. They may share nothing but what none of them changes.
 */
export function sideBySide(): (title: string, run: () => Promise<void>) => void {
  const cases = new Map<string, () => Promise<void>>();
  const running = new Map<string, Promise<void>>();
  beforeAll(() => {
    for (const [title, run] of cases) {
      const result = run();
      // Its own test reports a failure, maybe much later.
      result.catch(() => undefined);
      running.set(title, result);
    }
  });
  return (title, run) => {
    cases.set(title, run);
    it(title, () => running.get(title));
  };
}
