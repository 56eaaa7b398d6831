import { newId as uniqueId } from '../../src/platform/crypto/ids.ts';
import type { Database } from '../../src/db/database.ts';
import { claimDelivery, endDeliveryTry } from '../../src/db/callbacks/deliveries.ts';
import { admitted, attemptEndedOk, newId, newTask, openLedger, taskEnd, type Book } from '../db/books.ts';

/** A task as a route accepts its id, admitted and running. */
export async function aRunningTask(db: Database, book: Book, callbackUrl: string | null = null): Promise<string> {
  const { taskId } = await admitted(openLedger(db), newTask(book, 1, { taskId: uniqueId('task'), callbackUrl }));
  return taskId;
}

/** Ends a running task with success, and returns the id of its callback. */
export async function succeed(db: Database, taskId: string): Promise<string> {
  await attemptEndedOk(db, taskId);
  const end = taskEnd(taskId, 'succeeded');
  await openLedger(db).finishTask(end);
  return end.deliveryId;
}

/** Ends the first try of a callback as a receiver that answers 200 does. */
export async function deliver(db: Database, deliveryId: string): Promise<void> {
  const token = newId('token');
  const claim = await claimDelivery(db, { deliveryId, token, leaseSeconds: 60 });
  if (!claim?.claimed) throw new Error('the callback is not due');
  const ended = { state: 'delivered', delaySeconds: 0, status: 200, errorClass: null } as const;
  await endDeliveryTry(db, { ...ended, deliveryId, token, claimedAt: claim.claimedAt });
}
