import type { Database, Statements } from '../database.ts';
import { recordAudit } from '../operators/audit.ts';

export interface SealedValue {
  id: string;
  value: string;
}

const sealedColumns = {
  channel_credential: { table: 'channel', column: 'credential' },
  channel_pool_credential: { table: 'channel_credential', column: 'credential' },
  callback_secret: { table: 'project', column: 'callback_secret' },
  callback_secret_previous: { table: 'project', column: 'callback_secret_previous' },
} as const;
export type SealedColumn = keyof typeof sealedColumns;

export interface ResealedPage {
  /** The ids of the values that were read. */
  ids: string[];
  resealed: number;
  current: number;
  unreadable: string[];
}

/**
 * Seals the values of one page of a column anew where `reseal` returns another value, in one transaction. A value that was changed in the
 * meantime stays, because it was sealed with the first key.
 */
export const resealPage = (
  database: Database,
  { kind, after, limit, actor }: { kind: SealedColumn; after: string; limit: number; actor: string },
  reseal: (value: SealedValue) => { to: string } | 'current' | 'unreadable',
): Promise<ResealedPage> =>
  database.transaction('begin', async (_query, inside) => {
    const values = await listSealed(inside, kind, { after, limit });
    const page: ResealedPage = { ids: values.map(({ id }) => id), resealed: 0, current: 0, unreadable: [] };
    for (const { id, value } of values) {
      const sealed = reseal({ id, value });
      if (sealed === 'unreadable') page.unreadable.push(id);
      else if (sealed !== 'current' && (await replaceSealed(inside, kind, { id, from: value, to: sealed.to })))
        page.resealed += 1;
      else page.current += 1;
    }
    if (page.resealed > 0) {
      await recordAudit(inside, {
        actor,
        action: 'secrets.reseal',
        subject: 'secrets',
        before: { sealedWithOlderKeys: page.resealed },
        after: { sealedWithOlderKeys: 0 },
        detail: { place: kind },
      });
    }
    return page;
  });

/** The next sealed values of one column, ordered by the id of their row. */
async function listSealed(
  inside: Statements,
  sealedColumn: SealedColumn,
  { after, limit }: { after: string; limit: number },
): Promise<SealedValue[]> {
  const { table, column } = sealedColumns[sealedColumn];
  return inside.query<SealedValue>(
    `operator-sealed-${sealedColumn}`,
    `select id, ${column} as value from ${table} where id > $1 and ${column} is not null order by id limit $2`,
    [after, limit],
  );
}

/** Replaces a sealed value; false if it has changed since it was read as `from`. */
async function replaceSealed(
  inside: Statements,
  sealedColumn: SealedColumn,
  { id, from, to }: { id: string; from: string; to: string },
): Promise<boolean> {
  const { table, column } = sealedColumns[sealedColumn];
  return inside.returnsRow(
    `operator-reseal-${sealedColumn}`,
    `update ${table} set ${column} = $3 where id = $1 and ${column} = $2 returning id`,
    [id, from, to],
  );
}
