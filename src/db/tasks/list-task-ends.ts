import { readTimePosition } from '../../domain/time-position.ts';
import type { Database } from '../database.ts';
import { positionOf, timeOfPosition } from '../time-position-sql.ts';

/** An entry of a project's ledger, as far as it tells of the end of a task. */
export interface EndEntry {
  /** Matches `entryPosition`. */
  position: string;
  /** The task that ended with this entry; null for any other entry. */
  taskId: string | null;
  /** The `webhook-id` of the task's callback; null for a task without one. */
  eventId: string | null;
}

/**
 * The next entries of a project's ledger, oldest first. Every end of a task writes one, and the account is locked meanwhile: who has read up to
 * an entry has missed none before it.
 */
export async function listEndEntries(
  database: Database,
  { projectId, after, limit }: { projectId: string; after: string; limit: number },
): Promise<EndEntry[]> {
  const { microseconds, id } = readTimePosition(after);
  return database.query<EndEntry>(
    'list-end-entries',
    `select position, task_id, (select d.event_id from delivery d where d.task_id = entry.task_id and d.workflow_id is null limit 1) as event_id
     from (
       select ${positionOf('e')} as position, created_at, id,
         case when kind in ('settle', 'refund') and request_id like 'task\\_%' then request_id end as task_id
       from ledger_entry e
       where project_id = $1 and (created_at, id) > (${timeOfPosition('$2')}, $3::bigint)
       order by created_at, id limit $4
     ) entry order by created_at, id`,
    [projectId, microseconds, Number(id), limit],
  );
}

/** Where the ledgers of these projects end now. An index has the last entry of each. */
export const ledgerEnds = (
  database: Database,
  projectIds: readonly string[],
): Promise<{ id: string; version: string }[]> =>
  database.query(
    'ledger-ends',
    `select requested.id, coalesce(last.position, '0.0') as version from unnest($1::text[]) requested (id)
     left join lateral (
       select ${positionOf('e')} as position from ledger_entry e where project_id = requested.id order by created_at desc, id desc limit 1
     ) last on true`,
    [projectIds],
  );
