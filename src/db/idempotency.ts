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
export interface UnkeyedRequest {
  projectId: string;
  keyId: string;
  fingerprint: string;
}

/** Longer than the retries of SDKs take, and short enough that a person still means the same request. */
const undeliveredKeptSeconds = 600;

/** No route of a client's key has such a name. The key is the id of a task or of the request of a chat. */
export const undeliveredRoute = (keyId: string): string => `undelivered ${keyId}`;

/** What did not reach its client: a task, or a chat with its sealed answer once there is one. */
interface Undelivered {
  requestId: string;
  taskId?: string;
  answer?: string | null;
  /** How long a chat without an answer may still run. */
  runsSecondsMax?: number;
}

/** Of a row `i` of `undeliveredRoute`: a chat that may be taken over. */
export const isUntakenChat = 'i.task_id is null and i.replayed_at is null and i.expires_at > clock_timestamp()';

/**
 * Binds what did not reach its client for ten minutes, and `runsSecondsMax` more if a chat still runs. One repetition of the request takes it
 * over (`takeUndelivered`, `takeLostChat`). All processes learn that the key has a lost chat.
 */
export async function keepUndelivered(
  database: Database,
  { projectId, keyId, fingerprint }: UnkeyedRequest,
  { requestId, taskId, answer, runsSecondsMax = 0 }: Undelivered,
): Promise<void> {
  const seconds = undeliveredKeptSeconds + runsSecondsMax;
  await database.query(
    'keep-undelivered',
    `with kept as (
       insert into idempotency (project_id, route, key, fingerprint, request_id, task_id, body, expires_at)
       values ($1, $2, coalesce($5, $4), $3, $4, $5, $6, clock_timestamp() + make_interval(secs => $7))
       on conflict (project_id, route, key) do update
         set body = coalesce(excluded.body, idempotency.body), expires_at = excluded.expires_at)
     -- Every process looks for the chats of this key already if it has another one.
     select pg_notify('tollgate_change', 'api_key') where $5::text is null and not exists (
       select from idempotency i where i.project_id = $1 and i.route = $2 and ${isUntakenChat})`,
    [projectId, undeliveredRoute(keyId), fingerprint, requestId, taskId ?? null, answer ?? null, seconds],
  );
}

/**
 * Takes the oldest task of an equal request that was not delivered, unless it failed, was canceled or was deleted. Null if there is none.
 * Repetitions that run at the same time take different tasks.
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

/** Whether an equal chat that lost its client still runs. */
export const isLostChatRunning = (
  database: Database,
  { projectId, keyId, fingerprint }: UnkeyedRequest,
): Promise<boolean> =>
  database.returnsRow(
    'is-lost-chat-running',
    `select from idempotency i join hold h on h.id = i.request_id
     where i.project_id = $1 and i.route = $2 and i.fingerprint = $3 and ${isUntakenChat} and h.expires_at > clock_timestamp()`,
    [projectId, undeliveredRoute(keyId), fingerprint],
  );

/**
 * Takes the oldest equal chat that lost its client and was charged: no other repetition gets it until it is given back (`leaveLostChat`).
 * Returns the id of its request, which is its key in `undeliveredRoute`. Null if there is none.
 */
export const takeLostChat = (
  database: Database,
  { projectId, keyId, fingerprint }: UnkeyedRequest,
): Promise<{ requestId: string } | null> =>
  database.first(
    'take-lost-chat',
    `update idempotency set replayed_at = clock_timestamp() where ctid = (
       select i.ctid from idempotency i
       where i.project_id = $1 and i.route = $2 and i.fingerprint = $3 and ${isUntakenChat} and i.body is not null
         and exists (select from ledger_entry e where e.request_id = i.request_id and e.kind = 'settle')
         and not exists (select from ledger_entry e where e.request_id = i.request_id and e.kind = 'adjust')
       order by i.created_at limit 1 for update of i skip locked)
     returning request_id`,
    [projectId, undeliveredRoute(keyId), fingerprint],
  );

/** Erases a taken answer that was delivered, or gives it to the next repetition. */
export const leaveLostChat = (
  database: Database,
  { projectId, keyId }: Pick<UnkeyedRequest, 'projectId' | 'keyId'>,
  { requestId, isDelivered }: { requestId: string; isDelivered: boolean },
): Promise<unknown> =>
  database.query(
    'leave-lost-chat',
    `update idempotency set body = case when not $4 then body end, replayed_at = case when $4 then replayed_at end
     where project_id = $1 and route = $2 and key = $3`,
    [projectId, undeliveredRoute(keyId), requestId, isDelivered],
  );
