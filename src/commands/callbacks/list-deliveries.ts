import { toColumns } from '../../db/database.ts';
import { listTaskDeliveries } from '../../db/list-deliveries.ts';
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
  const present = ({ id, tries, position: _, ...about }: (typeof items)[number]): JsonObject => ({
    delivery_id: id,
    object: 'delivery',
    ...toColumns(about),
    tries: tries.map(toColumns),
  });
  return { items: items.map(present), next };
}
