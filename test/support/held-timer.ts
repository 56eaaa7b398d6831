import { setImmediate as turn } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { PIECES } from '../../src/platform/silence-timer.ts';

const { setTimeout: start, clearTimeout: stop } = globalThis;

/**
 * Holds back the next `SilenceTimer` of exactly `ms` milliseconds that this process starts, for a test of a time limit that must not pass
 * before something has happened. The returned function lets its pieces end one after another, unless it is stopped meanwhile.
 */
export function holdTimer(ms: number): () => void {
  let endPiece = (): void => {
    throw new Error(`no timer of ${ms} ms was started`);
  };
  let held: NodeJS.Timeout | undefined;
  let isStopped = false;
  const starts = jest.spyOn(globalThis, 'setTimeout');
  const stops = jest.spyOn(globalThis, 'clearTimeout');
  starts.mockImplementation((callback: () => void, delay?: number) => {
    if (delay !== Math.ceil(ms / PIECES)) return start(callback, delay);
    starts.mockRestore();
    endPiece = callback;
    return (held = start(() => undefined));
  });
  stops.mockImplementation((timer) => {
    stop(timer);
    if (held === undefined || timer !== held) return;
    isStopped = true;
    stops.mockRestore();
  });
  const pass = async (): Promise<void> => {
    for (let ended = 0; ended < PIECES && !isStopped; ended += 1) {
      endPiece();
      // The piece counts at the end of the first turn.
      await turn();
      await turn();
    }
    stops.mockRestore();
  };
  return () => void pass();
}

/** Lets a timer pass as one does after a pause of this process: before anything is read that has arrived during the pause. */
export function passAfterPause(pass: () => void): void {
  setTimeout(pass, 1);
  for (const wakesAt = performance.now() + 20; performance.now() < wakesAt;);
}
