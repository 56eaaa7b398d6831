import type { Database } from '../db/database.ts';
import { mayContract } from '../db/migrate.ts';
import { createCached } from './cached.ts';

const queryIntervalMs = 60_000;

/** Whether the second step of the upgrade was run, so that the former release starts no more. Until it was, the database is asked once a minute. */
export function createContractCache(db: Database): () => Promise<boolean> {
  const cached = createCached(queryIntervalMs, async () => !(await mayContract(db)));
  let isDone = false;
  return async () => (isDone ||= await cached.get());
}
