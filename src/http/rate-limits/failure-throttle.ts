import { LRUCache } from 'lru-cache';

export interface FailureThrottle {
  /** Counts one failure of this address. Returns 0, or the seconds until the address is below its limit again. */
  record(address: string): number;
}

interface ThrottleOptions {
  /** The number of failures in a window that are not throttled. */
  max: number;
  /** A monotonic clock, in milliseconds. */
  now?: () => number;
  addressesMax?: number;
}

const WINDOW_MS = 60_000;

/**
 * Counts failures by address in memory, in windows of one minute that begin with the first failure. It slows down guessing and keeps
 * the log readable. No guarantee rests on it, so it may forget: beyond `addressesMax` addresses it drops the oldest window.
 */
export function createFailureThrottle({
  max,
  now = () => performance.now(),
  addressesMax = 10_000,
}: ThrottleOptions): FailureThrottle {
  const windows = new LRUCache<string, { endsAt: number; failures: number }>({ max: addressesMax });
  return {
    record(address) {
      const name = networkOf(address);
      const at = now();
      let window = windows.get(name);
      if (!window || window.endsAt <= at) {
        window = { endsAt: at + WINDOW_MS, failures: 0 };
        windows.set(name, window);
      }
      window.failures += 1;
      return window.failures > max ? Math.max(1, Math.ceil((window.endsAt - at) / 1_000)) : 0;
    },
  };
}

/** The key of an address. IPv6 addresses count by their /64, because one customer owns at least that. Mapped IPv4 counts as IPv4. */
function networkOf(address: string): string {
  const short = address.slice(0, 64);
  if (!short.includes(':') || short.includes('.')) return short;
  const [head = '', tail] = short.split('::');
  const left = head.split(':').filter(Boolean);
  const right = (tail ?? '').split(':').filter(Boolean);
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - left.length - right.length);
  return [...left, ...Array.from({ length: zeros }, () => '0'), ...right].slice(0, 4).join(':');
}
