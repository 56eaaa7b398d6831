import type { MikroORM } from '@mikro-orm/postgresql';
import { CompiledQuery, type Kysely } from 'kysely';

/**
 * The statements of a migration that may take long, and columns that these need: all that say `if not exists`. `runAhead` runs them first,
 * and the migration finds them done.
 */
const statementAhead = /^(?:alter table \w+ add column|create (?:unique )?index) if not exists (\w+)[^;]*/gm;

/** A session lock. Another process that runs statements ahead waits for it without a snapshot, for which an index would wait. */
const aheadLock = 7_105_002;
const lockPauseMs = 200;

/**
 * Builds the indexes of these migrations without blocking writes (`concurrently`), before the transaction that blocks the tables it changes.
 * An index that an interrupted run left invalid is built again. Repeated, it changes nothing.
 */
export async function runAhead(orm: MikroORM, texts: readonly string[]): Promise<void> {
  const statements = texts.flatMap((text) => [...text.matchAll(statementAhead)]);
  if (statements.length === 0) return;
  const kysely: Kysely<object> = orm.em.getConnection().getClient<object>();
  await kysely.connection().execute(async (connection) => {
    const run = async (text: string) => {
      const { rows } = await connection.executeQuery<{ mine?: boolean; valid?: boolean }>(CompiledQuery.raw(text));
      return rows;
    };
    // An index waits for every transaction that began before it, and no client waits for the index.
    await run('set statement_timeout = 0');
    while (!(await run(`select pg_try_advisory_lock(${aheadLock}) as mine`))[0]?.mine)
      await new Promise((resolve) => setTimeout(resolve, lockPauseMs));
    try {
      for (const [statement, name] of statements) {
        const isIndex = statement.startsWith('create');
        // Adding a column is quick, but while it waits for the table's lock, clients queue behind it.
        await run(`set lock_timeout = ${isIndex ? 0 : 500}`);
        const [built] = await run(`select indisvalid as valid from pg_index where indexrelid = to_regclass('${name}')`);
        // That of a partitioned table cannot be built concurrently: an operator has built it.
        if (built?.valid) continue;
        if (built) await run(`drop index concurrently ${name}`);
        await run(statement.replace('index if', 'index concurrently if'));
      }
    } finally {
      await run(`select pg_advisory_unlock(${aheadLock})`).catch(() => undefined);
      await run('reset statement_timeout').catch(() => undefined);
      await run('reset lock_timeout').catch(() => undefined);
    }
  });
}
