import { createFairBudget } from '../../platform/fair-budget.ts';
import { whenGone } from '../server/client-gone.ts';
import { ownerOf, type AppContext } from '../context.ts';
import { leaveSlots } from '../middleware/hold-slot.ts';

/** One request that waits for a task. */
export interface Waiting {
  /** Fires when the client has left, or when the server stops. */
  signal: AbortSignal;
  /** Gives the slot back. */
  leave(): void;
}

export interface TaskWaits {
  /**
   * A slot for a request that waits, instead of its slot among the requests in flight. Null if too many wait, or the server stops: then the
   * request is answered immediately, with the task as it is.
   */
  enter(ctx: AppContext): Waiting | null;
  /** Ends all waits, and lets none begin. */
  stop(): void;
}

/** The requests of this process that wait for tasks or follow their events, at most `total`, shared fairly by the projects. */
export function createTaskWaits({ total }: { total: number }): TaskWaits {
  const slots = createFairBudget({ total, message: 'Too many requests wait for tasks.' });
  const stopping = new AbortController();
  return {
    enter(ctx) {
      const slot = slots.open(ownerOf(ctx));
      if (stopping.signal.aborted || !slot.mayTake(1)) return null;
      // Waits last for minutes. They must not take the slots of short requests.
      leaveSlots(ctx);
      return { signal: AbortSignal.any([whenGone(ctx), stopping.signal]), leave: () => slot.release() };
    },
    stop: () => stopping.abort(),
  };
}
