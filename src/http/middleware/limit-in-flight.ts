import { GatewayError } from '../../domain/errors.ts';
import type { AppMiddleware } from '../context.ts';

/**
 * Processes at most `max` requests at the same time. A further request is `overloaded` before its body is read. A request counts
 * until its handler ends, even after the client has disconnected, because the work costs memory, not the socket.
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
