import type { AppMiddleware } from '../context.ts';
import { createOwnerLanes } from '../server/owner-lanes.ts';
import { writeBody } from '../response/write-body.ts';
import { readerOf } from './hold-answers.ts';

/** Lists that are read and written for one owner at the same time. One that takes long leaves the other lane to short ones. */
const LISTS_PER_OWNER = 2;
/** As long as the console waits for an answer. A page asks for several reads at the same time, and none may be refused because of the others. */
const OPERATOR_WAIT_MS = 30_000;
/** The longest pause after a list. One that took longer waited itself. */
const PAUSE_MAX_MS = 250;

/**
 * Lets a list wait until its project, or its operator, has less than two others in work: until it is read, presented and written, and for as
 * long again. A page takes milliseconds of the event loop and of the database, which a crowd of them would take from everybody. Who reads
 * page after page does not wait, because the other lane is free.
 */
export function takeListTurn(waitMs: number): AppMiddleware {
  const projects = createOwnerLanes(LISTS_PER_OWNER, waitMs);
  const operators = createOwnerLanes(LISTS_PER_OWNER, OPERATOR_WAIT_MS);
  return async (ctx, next) => {
    const leave = await (ctx.state.admin ? operators : projects).enter(ctx, readerOf(ctx));
    const begunAt = performance.now();
    try {
      await next();
      await writeBody(ctx);
    } finally {
      setTimeout(leave, Math.min(performance.now() - begunAt, PAUSE_MAX_MS));
    }
  };
}
