import type { AppContext } from './context.ts';
import { createOwnerLanes } from './owner-lanes.ts';

/** Shares the event loop between the owners of large bodies. */
export interface BodyTurns {
  /**
   * Resolves when the owner's body may be parsed, with the function that ends its turn and takes the bytes of the body. Call that once the
   * handler has begun. Throws `ClientGone` if the client leaves before.
   */
  begin(ctx: Pick<AppContext, 'res'>, owner: string): Promise<(bytes: number) => void>;
}

/**
 * What one owner's bodies together have of a process. 30 MB take a tenth of a second to read, and as long again to write to the provider,
 * in pieces of up to 40 ms: at this speed, a request of another owner meets such a piece less often than one in twenty times.
 */
const BYTES_PER_SECOND = 16_000_000;

/**
 * Lets one large body of an owner be parsed and checked at a time, and then pauses for as long as that took, or as its bytes take at 16 MB/s: 9,900
 * parts take 15 ms of the event loop, and 16 callers that send them would leave nothing of it to others.
 */
export function createBodyTurns(): BodyTurns {
  const lanes = createOwnerLanes(1);
  return {
    async begin(ctx, owner) {
      const leave = await lanes.enter(ctx, owner);
      const begunAt = performance.now();
      let isOver = false;
      return (bytes) => {
        if (isOver) return;
        isOver = true;
        const bytesMs = (bytes / BYTES_PER_SECOND) * 1_000;
        // Handlers check a body before they wait for anything else.
        setImmediate(() => setTimeout(leave, Math.max(performance.now() - begunAt, bytesMs)));
      };
    },
  };
}
