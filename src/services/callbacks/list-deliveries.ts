import type { PublicDelivery } from '../../schemas/delivery.ts';
import { listTaskDeliveries, type ListedDelivery } from '../../db/callbacks/list-deliveries.ts';
import type { Deps } from '../../deps.ts';
import type { Page, PageRequest } from '../../domain/page.ts';

/** One page of the callbacks of a task, newest first, each with its tries. Times are unix seconds. */
export async function listDeliveries(
  { db }: Pick<Deps, 'db'>,
  taskId: string,
  page: PageRequest,
): Promise<Page<PublicDelivery>> {
  const { items, next } = await listTaskDeliveries(db, taskId, page);
  return { items: items.map(presentDelivery), next };
}

/** A delivery in the format of the API. Times are unix seconds. */
export const presentDelivery = (delivery: ListedDelivery): PublicDelivery => ({
  delivery_id: delivery.id,
  object: 'delivery',
  event_id: delivery.eventId,
  state: delivery.state,
  attempts: delivery.attempts,
  last_status: delivery.lastStatus,
  created_at: delivery.createdAt,
  ended_at: delivery.endedAt,
  next_attempt_at: delivery.nextAttemptAt,
  tries: delivery.tries.map(({ n, startedAt: started_at, endedAt: ended_at, status, error }) => ({
    n,
    started_at,
    ended_at,
    status,
    // An answer with another status than 2xx has no class of its own.
    error: error ?? (ended_at !== null && status !== null && (status < 200 || status > 299) ? 'status' : null),
  })),
});
