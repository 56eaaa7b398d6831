import type { FairBudget } from '../../platform/fair-budget.ts';
import { ownerOf, type AppContext, type AppMiddleware } from '../context.ts';

/**
 * Holds one slot of the budget for the project of the request, or refuses the request as `overloaded`. The slot is held until the
 * handler ends, even after the client has disconnected, because the work costs memory, not the socket.
 */
export function holdSlot(slots: FairBudget): AppMiddleware {
  return async (ctx, next) => {
    const slot = slots.open(ownerOf(ctx));
    slot.take(1);
    (ctx.state.slots ??= []).push(slot);
    try {
      await next();
    } finally {
      slot.release();
    }
  };
}

/** Gives the slots of a request back before it ends, because it holds one of another kind from now on. */
export function leaveSlots({ state }: AppContext): void {
  for (const slot of state.slots ?? []) slot.release();
}
