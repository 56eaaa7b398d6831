import type { Statements } from '../database.ts';

export interface SealedValue {
  id: string;
  value: string;
}

const sealedColumns = {
  channel_credential: { table: 'channel', column: 'credential' },
  callback_secret: { table: 'project', column: 'callback_secret' },
  callback_secret_previous: { table: 'project', column: 'callback_secret_previous' },
} as const;
export type SealedColumn = keyof typeof sealedColumns;

/** The next sealed values of one column, ordered by the id of their row. */
export async function listSealed(
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

/** Replaces a sealed value; false if it has changed since it was read as `from`../. */
export async function replaceSealed(
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
