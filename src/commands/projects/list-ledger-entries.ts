import { listLedger, type LedgerFilter } from '../../db/list-ledger.ts';
import type { Deps } from '../../deps.ts';
import type { Page, PageRequest } from '../../domain/page.ts';

/** An entry of the ledger in the format of the API. Either `task_id` or `request_id` names what it is about; both are null for a top-up. */
export interface PublicEntry {
  entry_id: string;
  at: number;
  kind: string;
  credits: number;
  balance_after: number;
  task_id: string | null;
  request_id: string | null;
  key_id: string | null;
  reference: string | null;
}

/** One page of a project's ledger, newest first. */
export async function listLedgerEntries(
  { db }: Pick<Deps, 'db'>,
  filter: LedgerFilter,
  page: PageRequest,
): Promise<Page<PublicEntry>> {
  const { items, next } = await listLedger(db, filter, page);
  const entries = items.map(({ id, at, kind, credits, balanceAfter, requestId, keyId, reference }): PublicEntry => {
    const isTask = requestId?.startsWith('task_') ?? false;
    return {
      entry_id: `entry_${id}`,
      at,
      kind,
      credits,
      balance_after: balanceAfter,
      task_id: isTask ? requestId : null,
      request_id: isTask ? null : requestId,
      key_id: keyId,
      reference,
    };
  });
  return { items: entries, next };
}
