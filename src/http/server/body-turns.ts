import { GatewayError } from '../../domain/errors.ts';
import type { AppContext } from '../context.ts';
import { createOwnerLanes } from './owner-lanes.ts';
import { HUGE_BYTES } from '../request/read-body.ts';

/** Shares the event loop between the owners of large bodies. */
export interface BodyTurns {
  /**
   * Resolves when the owner's body of so many bytes may be parsed, with the function that ends its turn and takes its bytes, which unpacking may
   * have shown to be more. Call that once the handler has begun. Throws `ClientGone` if the client leaves before.
   */
  begin(ctx: Pick<AppContext, 'res'>, owner: string, bytes: number): Promise<(bytes: number) => void>;
  /** Resolves when the refusal of a large body of the owner may be sent, after 3 s at most. Throws `ClientGone` if the client leaves before. */
  refuse(ctx: Pick<AppContext, 'res'>, owner: string, bytes: number): Promise<void>;
}

/**
 * What one owner's huge bodies together have of a process. 30 MB take a tenth of a second to read, and as long again to write to the provider,
 * in pieces of up to 40 ms: at this speed, a request of another owner meets such a piece less often than one in twenty times.
 */
const BYTES_PER_SECOND = 10_000_000;

/**
 * The longest wait of a refusal. The server does not see that a client has left while it reads nothing of its body, so such clients still wait
 * in the line, and those behind them must not wait long.
 */
const REFUSAL_WAIT_MS = 3_000;

/**
 * Lets one large body of an owner be parsed and checked at a time, and then pauses for as long as that took: 9,900 parts take 15 ms of the event
 * loop, and 16 callers that send them would leave nothing of it to others. Huge ones take turns with one another only, so that usual
 * requests of their project do not wait for them, and pause for as long as their bytes take at 10 MB/s. A body that is refused while it is
 * read never has a turn; its refusal waits for those before it, which pause at the same speed.
 */
export function createBodyTurns(): BodyTurns {
  const [large, huge, refused] = [createOwnerLanes(1), createOwnerLanes(1), createOwnerLanes(1, REFUSAL_WAIT_MS)];
  return {
    async begin(ctx, owner, expected) {
      const leave = await (expected > HUGE_BYTES ? huge : large).enter(ctx, owner);
      const begunAt = performance.now();
      let isOver = false;
      return (bytes) => {
        if (isOver) return;
        isOver = true;
        const bytesMs = expected > HUGE_BYTES ? (bytes / BYTES_PER_SECOND) * 1_000 : 0;
        // Handlers check a body before they wait for anything else.
        setImmediate(() => setTimeout(leave, Math.max(performance.now() - begunAt, bytesMs)));
      };
    },
    async refuse(ctx, owner, bytes) {
      const leave = await refused.enter(ctx, owner).catch((error: unknown) => {
        // It has waited for as long as it may.
        if (error instanceof GatewayError) return null;
        throw error;
      });
      if (leave) setTimeout(leave, (bytes / BYTES_PER_SECOND) * 1_000);
    },
  };
}
