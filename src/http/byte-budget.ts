import { GatewayError } from '../domain/errors.ts';

/** What one request holds of a budget. */
export interface ByteShare {
  /** Throws `overloaded` with `message` where the budget has no room for so many more. */
  take(bytes: number): void;
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
      return {
        take(bytes) {
          if (held + bytes > maxBytes) throw new GatewayError('overloaded', { message, retryAfterSeconds: 2 });
          own += bytes;
          held += bytes;
        },
        release() {
          held -= own;
          own = 0;
        },
      };
    },
  };
}
