import type { FairBudget } from '../../platform/fair-budget.ts';
import { ownerOf, type AppMiddleware } from '../context.ts';

/**
 * Holds one place of the budget for the project of the request, or refuses the request as `overloaded`. The place is held until the
 * handler ends, even after the client has disconnected, because the work costs memory, not the socket.
 */
export function holdPlace(places: FairBudget): AppMiddleware {
  return async (ctx, next) => {
    const place = places.open(ownerOf(ctx));
    place.take(1);
    try {
      await next();
    } finally {
      place.release();
    }
  };
}
