import { GatewayError } from '../../domain/errors.ts';
import type { AppMiddleware } from '../context.ts';

/**
 * At most `max` requests are worked on at once; one more is `overloaded` before any of it is read. A place is held as
 * long as the handler runs, also when its client has gone, for it is the work that costs memory, not the socket.
 */
export function limitInFlight(max: number): AppMiddleware {
  let inFlight = 0;
  return async (_ctx, next) => {
    if (inFlight >= max) throw new GatewayError('overloaded', { retryAfterSeconds: 1 });
    inFlight += 1;
    try {
      await next();
    } finally {
      inFlight -= 1;
    }
  };
}
