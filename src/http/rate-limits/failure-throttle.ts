export interface FailureThrottle {
  /** Counts one failure of this address. Answers 0, or for how many seconds the address is over its limit. */
  record(address: string): number;
}

interface ThrottleOptions {
  /** So many failures in a window are still answered plainly. */
  max: number;
  /** Milliseconds, never going back. */
  now?: () => number;
  addressesMax?: number;
}

const WINDOW_MS = 60_000;

/**
 * Counts failures by address in memory, in windows of one minute that begin with the first failure. It slows guessing
 * and keeps the log readable; it guards nothing by itself, so it may forget: with `addressesMax` addresses the oldest
 * window goes.
 */
export function createFailureThrottle({
  max,
  now = () => performance.now(),
  addressesMax = 10_000,
}: ThrottleOptions): FailureThrottle {
  const windows = new Map<string, { endsAt: number; failures: number }>();
  return {
    record(address) {
      const name = networkOf(address);
      const at = now();
      let window = windows.get(name);
      if (!window || window.endsAt <= at) {
        windows.delete(name);
        const oldest = windows.size >= addressesMax ? windows.keys().next().value : undefined;
        if (oldest !== undefined) windows.delete(oldest);
        window = { endsAt: at + WINDOW_MS, failures: 0 };
        windows.set(name, window);
      }
      window.failures += 1;
      return window.failures > max ? Math.max(1, Math.ceil((window.endsAt - at) / 1_000)) : 0;
    },
  };
}

/** One IPv6 customer owns a /64 at least, so an address of it is worth nothing as a name. Mapped IPv4 stays itself. */
function networkOf(address: string): string {
  const short = address.slice(0, 64);
  if (!short.includes(':') || short.includes('.')) return short;
  const [head = '', tail] = short.split('::');
  const left = head.split(':').filter(Boolean);
  const right = (tail ?? '').split(':').filter(Boolean);
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - left.length - right.length);
  return [...left, ...Array.from({ length: zeros }, () => '0'), ...right].slice(0, 4).join(':');
}
