import type { PublicEntry } from '../../schemas/ledger-entry.ts';
import { listLedger, type LedgerFilter } from '../../db/ledger/list-ledger.ts';
import type { Deps } from '../../deps.ts';
import { tokenClasses } from '../../domain/catalog/token-classes.ts';
import { toTokenColumns } from '../../domain/catalog/token-counts.ts';
import type { Page } from '../../domain/page.ts';
import type { ListRequest } from '../../db/list-order.ts';

const inOrderOfClasses = tokenClasses.map((tokens) => `${tokens}_tokens` as const);

/** One page of a project's ledger. */
export async function listLedgerEntries(
  { db }: Pick<Deps, 'db'>,
  filter: LedgerFilter,
  page: ListRequest,
): Promise<Page<PublicEntry>> {
  const { items, next } = await listLedger(db, filter, page);
  const entries = items.map(
    ({ id, at, kind, credits, balanceAfter, requestId, keyId, reference, reason, ...tokens }): PublicEntry => {
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
        reason,
        ...toTokenColumns(tokens, inOrderOfClasses),
      };
    },
  );
  return { items: entries, next };
}
