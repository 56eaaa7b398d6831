import type { Database } from '../database.ts';

/** Lets the holds of chats that still run expire only after `seconds` from now. A hold that has ended stays ended. */
export async function renewHolds(db: Pick<Database, 'query'>, requestIds: string[], seconds: number): Promise<void> {
  await db.query(
    'renew-holds',
    `update hold set expires_at = clock_timestamp() + make_interval(secs => $2) where id = any ($1) and kind = 'chat'`,
    [requestIds, seconds],
  );
}
