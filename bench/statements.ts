import type { Database } from '../src/db/database.ts';

/** Statements of one text, of all clients of the database. */
export interface CountedStatement {
  text: string;
  calls: number;
  /** What PostgreSQL took for all calls, without planning and without the wait for the disk. */
  ms: number;
}

/** The settings of a server that counts statements, until `countStatements` has ended. */
export const countingStatements = { shared_preload_libraries: 'pg_stat_statements' };

/**
 * Returns the statements that clients send to this database during `work`, the most frequent first. After that the server counts no more,
 * because counting costs CPU. The connection must belong to the server's owner.
 */
export async function countStatements(database: Database, work: () => Promise<unknown>): Promise<CountedStatement[]> {
  const run = (text: string) => database.query('', text);
  await run('create extension if not exists pg_stat_statements');
  await run('select pg_stat_statements_reset()');
  await work();
  const statements = await database.query<CountedStatement>(
    '',
    `select query as text, calls::float8 as calls, total_exec_time as ms from pg_stat_statements
     where dbid = (select oid from pg_database where datname = current_database())
     order by calls desc, total_exec_time desc`,
  );
  await run(`alter system set pg_stat_statements.track = 'none'`);
  await run('select pg_reload_conf()');
  return statements;
}
