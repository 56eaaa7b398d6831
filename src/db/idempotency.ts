import type { Database } from './database.ts';

/** What a request with an Idempotency-Key binds to that key, and for how long. */
export interface IdempotencyBinding {
  route: string;
  key: string;
  fingerprint: string;
  keptSeconds: number;
}

export interface IdempotentRequest {
  fingerprint: string;
  taskId: string | null;
  /** The status of a chat's answer; null while the chat runs. */
  status: number | null;
  /** The sealed answer; null if it was too large to keep. */
  body: string | null;
  requestId: string;
  /** Whether the answer has been replayed, and so delivered. */
  replayed: boolean;
  /** For an ended chat: its charge and its number of calls. */
  credits: number | null;
  attempts: number;
}

/** The request that an idempotency key is bound to; null if there is none or the key has expired. */
export async function findIdempotent(
  database: Database,
  { projectId, route, key }: { projectId: string; route: string; key: string },
): Promise<IdempotentRequest | null> {
  return database.first<IdempotentRequest>(
    'find-idempotent',
    `select fingerprint, task_id, status, body, request_id, replayed_at is not null as replayed,
       (select -e.credits from ledger_entry e where e.request_id = i.request_id and e.kind = 'settle') as credits,
       -- A chat whose first call succeeded has no row in attempt.
       greatest(1, (select count(*)::int from attempt a where a.request_id = i.request_id)) as attempts
     from idempotency i
     where project_id = $1 and route = $2 and key = $3 and expires_at > clock_timestamp()`,
    [projectId, route, key],
  );
}

/**
 * Marks the answer of a chat as delivered by a replay, so that its charge stays (`return_chat`); false if the charge was given back
 * meanwhile.
 */
export async function markReplayed(database: Database, requestId: string): Promise<boolean> {
  return database.returnsRow(
    'mark-replayed',
    `update idempotency set replayed_at = coalesce(replayed_at, clock_timestamp()) where request_id = $1 returning 1`,
    [requestId],
  );
}

/** What equal requests without an Idempotency-Key have in common. */
interface UnkeyedRequest {
  projectId: string;
  keyId: string;
  fingerprint: string;
}

/** Binds a task whose answer did not reach its client, so that one repetition of the request takes it over (`takeUndelivered`). */
export async function keepUndelivered(
  database: Database,
  { projectId, keyId, fingerprint }: UnkeyedRequest,
  { taskId, requestId, keptSeconds }: { taskId: string; requestId: string; keptSeconds: number },
): Promise<void> {
  await database.query(
    'keep-undelivered',
    `insert into idempotency (project_id, route, key, fingerprint, request_id, task_id, expires_at)
     values ($1, $2, $3, $4, $5, $3, clock_timestamp() + make_interval(secs => $6)) on conflict do nothing`,
    [projectId, undeliveredRoute(keyId), taskId, fingerprint, requestId, keptSeconds],
  );
}

/**
 * Takes the oldest task of an equal request that was not delivered, unless it failed or was deleted. Null if there is none. Repetitions that
 * run at the same time take different tasks.
 */
export const takeUndelivered = (
  database: Database,
  { projectId, keyId, fingerprint }: UnkeyedRequest,
): Promise<{ taskId: string } | null> =>
  database.first(
    'take-undelivered',
    `delete from idempotency where ctid = (
       select i.ctid from idempotency i join task t on t.id = i.key
       where i.project_id = $1 and i.route = $2 and i.fingerprint = $3 and i.expires_at > clock_timestamp()
         and t.deleted_at is null and t.status in ('queued', 'processing', 'succeeded')
       order by i.created_at limit 1 for update of i skip locked)
     returning key as task_id`,
    [projectId, undeliveredRoute(keyId), fingerprint],
  );

/** No route of a client's key has such a name. */
const undeliveredRoute = (keyId: string): string => `undelivered ${keyId}`;
