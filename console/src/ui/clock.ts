import { useSyncExternalStore } from 'react';

/** The zone in which the console writes times. Each browser keeps its own choice. */
export type Zone = 'local' | 'utc';

const stored = 'tollgate-zone';
let zone: Zone = readZone();
const listeners = new Set<() => void>();

function readZone(): Zone {
  try {
    return localStorage.getItem(stored) === 'utc' ? 'utc' : 'local';
  } catch {
    return 'local';
  }
}

export const zoneNow = (): Zone => zone;

export function chooseZone(next: Zone): void {
  zone = next;
  try {
    localStorage.setItem(stored, next);
  } catch {
    // A browser that stores nothing forgets the choice with the page.
  }
  for (const listener of listeners) listener();
}

const subscribeZone = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};
export const useZone = (): Zone => useSyncExternalStore(subscribeZone, zoneNow);

const tickMs = 5_000;
const tickers = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;
let tick = 0;

const subscribeTick = (listener: () => void): (() => void) => {
  tickers.add(listener);
  timer ??= setInterval(() => {
    tick += 1;
    for (const each of tickers) each();
  }, tickMs);
  return () => {
    tickers.delete(listener);
    if (tickers.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
};

/** Renders what shows a distance from now again every few seconds. All share one timer. */
export const useTick = (): number => useSyncExternalStore(subscribeTick, () => tick);
