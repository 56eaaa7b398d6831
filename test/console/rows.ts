import type { AdminClient } from './admin-client.ts';

export type Row = Record<string, unknown>;

/** The rows of a list of the admin API. */
export const rowsOf = async (admin: AdminClient, path: string): Promise<Row[]> =>
  (await admin.read(path))['data'] as Row[];

/** The one row of a list that has these values. */
export async function rowOf(admin: AdminClient, path: string, values: Row): Promise<Row> {
  const [row, ...others] = (await rowsOf(admin, path)).filter((each) =>
    Object.entries(values).every(([name, value]) => each[name] === value),
  );
  if (!row || others.length > 0)
    throw new Error(`${path} has ${others.length + (row ? 1 : 0)} rows with ${JSON.stringify(values)}`);
  return row;
}
