import type pg from 'pg';

export interface DescribedColumn {
  /** As a row has it: `task_id` is `taskId`. */
  name: string;
  /** The type's name in `pg_type`. */
  type: string;
  /** Whether it is a column of a table that may be null. False also for what is computed. */
  nullable: boolean;
  /** The column of a table that it is: `task.input`. Null if it is computed. */
  stored: string | null;
}

interface Field {
  name: string;
  dataTypeID: number;
  tableID: number;
  columnID: number;
}

/** Asks the server what a statement returns, without running it. Rejects if the statement is wrong. */
export async function describeStatement(client: pg.Client, text: string): Promise<DescribedColumn[]> {
  const fields = await new Promise<Field[]>((resolve, reject) => {
    let described: Field[] = [];
    client.query({
      submit(connection: Prepared) {
        connection.parse({ name: '', text, types: [] });
        connection.describe({ type: 'S', name: '' });
        connection.sync();
      },
      handleRowDescription: (message: { fields: Field[] }) => (described = message.fields),
      handleReadyForQuery: () => resolve(described),
      handleError: (error: Error) => reject(error),
    } as unknown as pg.Submittable);
  });
  const { rows } = await client.query<{ type: string; nullable: boolean; stored: string | null }>(
    `select t.typname::text as type, coalesce(not a.attnotnull, false) as nullable,
       a.attrelid::regclass::text || '.' || a.attname as stored
     from unnest($1::oid[], $2::oid[], $3::int[]) with ordinality as f (type, relation, number, n)
     join pg_type t on t.oid = f.type
     left join pg_attribute a on a.attrelid = f.relation and a.attnum = f.number and a.attnum > 0
     order by f.n`,
    [
      fields.map((field) => field.dataTypeID),
      fields.map((field) => field.tableID),
      fields.map((field) => field.columnID),
    ],
  );
  return fields.map(({ name }, index) => ({
    name: name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase()),
    type: rows[index]?.type ?? '',
    nullable: rows[index]?.nullable ?? false,
    stored: rows[index]?.stored ?? null,
  }));
}

interface Prepared {
  parse(statement: { name: string; text: string; types: number[] }): void;
  describe(of: { type: 'S'; name: string }): void;
  sync(): void;
}
