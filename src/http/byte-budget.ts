import { GatewayError } from '../domain/errors.ts';

/** The bytes that one request holds of a budget. */
export interface ByteShare {
  /** Throws `overloaded` with `message` if the bytes exceed the budget. */
  take(bytes: number): void;
  /** Takes nothing and returns false if the bytes exceed the budget. */
  mayTake(bytes: number): boolean;
  /** Gives all bytes back. */
  release(): void;
}

/**
 * A limit on the bytes that all requests of one kind hold together in this process. Bytes are counted as they arrive, so that a
 * slow client does not block others.
 */
export function createByteBudget(maxBytes: number, message: string): { open(): ByteShare } {
  let held = 0;
  return {
    open() {
      let own = 0;
      const mayTake = (bytes: number): boolean => {
        if (held + bytes > maxBytes) return false;
        own += bytes;
        held += bytes;
        return true;
      };
      return {
        take(bytes) {
          if (!mayTake(bytes)) throw new GatewayError('overloaded', { message, retryAfterSeconds: 2 });
        },
        mayTake,
        release() {
          held -= own;
          own = 0;
        },
      };
    },
  };
}
