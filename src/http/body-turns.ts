import type { AppContext } from './context.ts';
import { createOwnerLanes } from './owner-lanes.ts';

/** Shares the event loop between the owners of large bodies. */
export interface BodyTurns {
  /**
   * Resolves when the owner's body may be parsed, with the function that ends its turn. Call that once the handler has begun. Throws
   * `ClientGone` if the client leaves before.
   */
  begin(ctx: Pick<AppContext, 'res'>, owner: string): Promise<() => void>;
}

/**
 * Lets one large body of an owner be parsed and checked at a time, and then pauses for as long as that took: 9,900 parts take 15 ms of the
 * event loop, and 16 callers that send them would leave nothing of it to others.
 */
export function createBodyTurns(): BodyTurns {
  const lanes = createOwnerLanes(1);
  return {
    async begin(ctx, owner) {
      const leave = await lanes.enter(ctx, owner);
      const begunAt = performance.now();
      let isOver = false;
      return () => {
        if (isOver) return;
        isOver = true;
        // Handlers check a body before they wait for anything else.
        setImmediate(() => setTimeout(leave, performance.now() - begunAt));
      };
    },
  };
}
