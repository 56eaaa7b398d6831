import type { AppMiddleware } from '../context.ts';
import { createOwnerLanes } from '../owner-lanes.ts';
import { writeBody } from '../write-body.ts';
import { readerOf } from './hold-answers.ts';

/** Lists that are read and written for one owner at the same time. One that takes long leaves the other lane to short ones. */
const LISTS_PER_OWNER = 2;
/** As long as a request waits for a connection of the database. Where those before it wait for one too, more waiting helps nobody. */
const TURN_WAIT_MS = 3_000;

/**
 * Lets a list wait until its project, or its operator, has less than two others in work: until it is read, presented and written. A
 * page takes milliseconds of the event loop, which a crowd of them would take from everybody.
 */
export function takeListTurn(): AppMiddleware {
  const lanes = createOwnerLanes(LISTS_PER_OWNER, TURN_WAIT_MS);
  return async (ctx, next) => {
    const leave = await lanes.enter(ctx, readerOf(ctx));
    try {
      await next();
      await writeBody(ctx);
    } finally {
      leave();
    }
  };
}
