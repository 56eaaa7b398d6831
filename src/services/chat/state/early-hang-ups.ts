import { LRUCache } from 'lru-cache';
import { GatewayError } from '../../../domain/errors.ts';

/**
 * Counts the streamed chats of each key whose client left before the first piece of the answer. They cost the client nothing, and a provider
 * bills the prompt and what its model thought until then (rules "Chat").
 */
export interface EarlyHangUps {
  /** Throws `rate_limit_exceeded` with the seconds to wait if the key has left too many in the last minute. */
  check(keyId: string): void;
  note(keyId: string): void;
}

/** More than a person cancels in a minute. Programs that do more should read what they ask for. */
const EARLY_HANG_UPS_PER_MINUTE_MAX = 20;
const minuteMs = 60_000;
const keysMax = 10_000;

/** Keeps the counts in the memory of this process. `now` is in milliseconds. */
export function createEarlyHangUps(now = () => performance.now()): EarlyHangUps {
  const timesOf = new LRUCache<string, number[]>({ max: keysMax });
  const recent = (keyId: string): number[] => (timesOf.get(keyId) ?? []).filter((time) => time > now() - minuteMs);
  return {
    check(keyId) {
      const [oldest, ...others] = recent(keyId);
      if (oldest === undefined || others.length + 1 < EARLY_HANG_UPS_PER_MINUTE_MAX) return;
      throw new GatewayError('rate_limit_exceeded', {
        message: `The clients of this key left ${EARLY_HANG_UPS_PER_MINUTE_MAX} streamed answers before the first piece in the last minute. Wait, or read the answers.`,
        retryAfterSeconds: Math.max(1, Math.ceil((oldest + minuteMs - now()) / 1_000)),
      });
    },
    note(keyId) {
      timesOf.set(keyId, [...recent(keyId), now()].slice(-EARLY_HANG_UPS_PER_MINUTE_MAX));
    },
  };
}
