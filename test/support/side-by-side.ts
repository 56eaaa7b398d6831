import { beforeAll, it } from '@jest/globals';

/**
 * Declares tests of one `describe` that run at the same time, because they mostly wait for timers. The first test starts all of
 * them, and each reports its own result. They must not change anything that they share.
 */
export function sideBySide(): (title: string, run: () => Promise<void>) => void {
  const cases = new Map<string, () => Promise<void>>();
  const running = new Map<string, Promise<void>>();
  beforeAll(() => {
    for (const [title, run] of cases) {
      const result = run();
      // The test awaits this promise later and reports a failure then.
      result.catch(() => undefined);
      running.set(title, result);
    }
  });
  return (title, run) => {
    cases.set(title, run);
    it(title, () => running.get(title));
  };
}
