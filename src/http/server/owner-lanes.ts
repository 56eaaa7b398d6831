import type { AppContext } from '../context.ts';
import { GatewayError } from '../../domain/errors.ts';
import { ClientGone } from '../request/read-body.ts';

/** Lets `max` pieces of work of one owner run at the same time. The others wait in their order. */
export interface OwnerLanes {
  /**
   * Resolves with the function that ends the work. Throws `ClientGone` if the client leaves before its turn, and 503 `overloaded` if the turn
   * does not come in time.
   */
  enter(ctx: Pick<AppContext, 'res'>, owner: string): Promise<() => void>;
}

/**
 * Work of the event loop is shared by turns: an owner with many requests waits for its own ones, and not everybody for them. The end of one
 * begins the next in another turn of the loop, so that what arrived meanwhile comes first.
 */
export function createOwnerLanes(max: number, waitMaxMs = Infinity): OwnerLanes {
  const lanes = new Map<string, { running: number; waiting: Set<() => void> }>();
  return {
    async enter({ res }, owner) {
      const lane = lanes.get(owner) ?? { running: 0, waiting: new Set() };
      lanes.set(owner, lane);
      if (lane.running < max) lane.running += 1;
      else await turnOf(res, lane.waiting, waitMaxMs);
      let isOver = false;
      return () => {
        if (isOver) return;
        isOver = true;
        setImmediate(() => {
          const [next] = lane.waiting;
          if (next) return next();
          lane.running -= 1;
          if (lane.running === 0) lanes.delete(owner);
        });
      };
    },
  };
}

/** The one that ends hands its lane over. */
function turnOf(res: AppContext['res'], waiting: Set<() => void>, waitMaxMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      waiting.delete(take);
      res.off('close', leave);
    };
    const take = (): void => {
      stop();
      resolve();
    };
    const leave = (): void => {
      stop();
      reject(new ClientGone('The client went away'));
    };
    const giveUp = (): void => {
      stop();
      reject(new GatewayError('overloaded', { retryAfterSeconds: 1 }));
    };
    const timer = Number.isFinite(waitMaxMs) ? setTimeout(giveUp, waitMaxMs) : undefined;
    if (res.closed) return leave();
    waiting.add(take);
    res.once('close', leave);
  });
}
