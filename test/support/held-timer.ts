import { jest } from '@jest/globals';

/**
 * Holds back the next timer of exactly `ms` milliseconds that this process starts, for a test of a time limit that must not pass before
 * something has happened. The returned function lets it pass.
 */
export function holdTimer(ms: number): () => void {
  const { setTimeout: start } = globalThis;
  let pass = (): void => {
    throw new Error(`no timer of ${ms} ms was started`);
  };
  const starts = jest.spyOn(globalThis, 'setTimeout');
  starts.mockImplementation((callback: () => void, delay?: number) => {
    if (delay !== ms) return start(callback, delay);
    starts.mockRestore();
    pass = callback;
    return start(() => undefined);
  });
  return () => pass();
}

/** Lets a timer pass as one does after a pause of this process: before anything is read that has arrived during the pause. */
export function passAfterPause(pass: () => void): void {
  setTimeout(pass, 1);
  for (const wakesAt = performance.now() + 20; performance.now() < wakesAt;);
}
