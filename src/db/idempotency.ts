import type { Database } from './database.ts';

export interface IdempotentRequest {
  fingerprint: string;
  taskId: string | null;
  /** Of a chat: null while it runs. */
  status: number | null;
  /** The sealed answer; null when it was too large to keep. */
  body: string | null;
  requestId: string;
  /** Of a chat that has ended: what it was charged, and how many calls it took. */
  credits: number | null;
  attempts: number;
}

/** The request that a key stands for, unless it has expired. */
export async function findIdempotent(
  database: Database,
  { projectId, route, key }: { projectId: string; route: string; key: string },
): Promise<IdempotentRequest | null> {
  const [row] = await database.query<IdempotentRequest>(
    {
      name: 'find-idempotent',
      text: `select fingerprint, task_id, status, body, request_id,
               (select r.settled_amount from reservation r where r.id = i.request_id) as credits,
               (select count(*)::int from attempt a where a.request_id = i.request_id) as attempts
             from idempotency i
             where project_id = $1 and route = $2 and key = $3 and expires_at > clock_timestamp()`,
    },
    [projectId, route, key],
  );
  return row ?? null;
}
