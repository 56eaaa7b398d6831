import { GatewayError } from '../domain/errors.ts';

/** What one request holds of a budget. */
export interface ByteShare {
  /** Throws `overloaded` with `message` when the bytes exceed the budget. */
  take(bytes: number): void;
  /** Takes nothing and returns false when the bytes exceed the budget. */
  mayTake(bytes: number): boolean;
  /** Gives all of them back. */
  release(): void;
}

/**
 * Bytes that all requests of one kind may hold together in this process. They are counted as they arrive, so a client that
 * sends slowly keeps nobody out.
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
