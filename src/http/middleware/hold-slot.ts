import type { FairBudget } from '../../platform/fair-budget.ts';
import { ownerOf, type AppContext, type AppMiddleware } from '../context.ts';

/**
 * Holds one place of the budget for the project of the request, or refuses the request as `overloaded`. The place is held until the
 * handler ends, even after the client has disconnected, because the work costs memory, not the socket.
 */
export function holdSlot(places: FairBudget): AppMiddleware {
  return async (ctx, next) => {
    const place = places.open(ownerOf(ctx));
    place.take(1);
    (ctx.state.places ??= []).push(place);
    try {
      await next();
    } finally {
      place.release();
    }
  };
}

/** Gives the places of a request back before it ends, because it holds one of another kind from now on. */
export function leaveSlots({ state }: AppContext): void {
  for (const place of state.places ?? []) place.release();
}
