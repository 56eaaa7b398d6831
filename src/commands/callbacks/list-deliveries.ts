import { toColumns } from '../../db/database.ts';
import { listTaskDeliveries, type ListedDelivery } from '../../db/list-deliveries.ts';
import type { Deps } from '../../deps.ts';
import type { JsonObject } from '../../domain/json.ts';
import type { Page, PageRequest } from '../../domain/page.ts';

/** One page of the callbacks of a task, newest first, each with its tries. Times are unix seconds. */
export async function listDeliveries(
  { db }: Pick<Deps, 'db'>,
  taskId: string,
  page: PageRequest,
): Promise<Page<JsonObject>> {
  const { items, next } = await listTaskDeliveries(db, taskId, page);
  return { items: items.map(presentDelivery), next };
}

/** A delivery in the format of the API. Times are unix seconds. */
export const presentDelivery = ({ id, tries, position: _, ...about }: ListedDelivery): JsonObject => ({
  delivery_id: id,
  object: 'delivery',
  ...toColumns(about),
  tries: tries.map(toColumns),
});
