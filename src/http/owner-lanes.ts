import type { AppContext } from './context.ts';
import { ClientGone } from './read-body.ts';

/** Lets `max` pieces of work of one owner run at the same time. The others wait in their order. */
export interface OwnerLanes {
  /** Resolves with the function that ends the work. Throws `ClientGone` if the client leaves before its turn. */
  enter(ctx: Pick<AppContext, 'res'>, owner: string): Promise<() => void>;
}

/**
 * Work of the event loop is shared by turns: an owner with many requests waits for its own ones, and not everybody for them. The end of one
 * begins the next in another turn of the loop, so that what arrived meanwhile comes first.
 */
export function createOwnerLanes(max: number): OwnerLanes {
  const lanes = new Map<string, { running: number; waiting: Set<() => void> }>();
  return {
    async enter({ res }, owner) {
      const lane = lanes.get(owner) ?? { running: 0, waiting: new Set() };
      lanes.set(owner, lane);
      if (lane.running < max) lane.running += 1;
      else await turnOf(res, lane.waiting);
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
function turnOf(res: AppContext['res'], waiting: Set<() => void>): Promise<void> {
  return new Promise((resolve, reject) => {
    const take = (): void => {
      waiting.delete(take);
      res.off('close', leave);
      resolve();
    };
    const leave = (): void => {
      waiting.delete(take);
      reject(new ClientGone('The client went away'));
    };
    if (res.closed) return leave();
    waiting.add(take);
    res.once('close', leave);
  });
}
