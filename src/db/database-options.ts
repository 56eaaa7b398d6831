import type pg from 'pg';

export interface DatabaseOptions {
  url: string;
  poolMax: number;
  connectTimeoutMs: number;
  statementTimeoutMs: number;
  /** Called if an idle connection breaks, after the pool has removed it. */
  onIdleError?: (error: Error) => void;
  /** Where traces are on. */
  traces?: StatementTraces;
}

export interface StatementTraces {
  /** Makes of what sends a statement what sends it in a span. */
  wrap: (send: Send) => Send;
  /** Called when a statement of MikroORM has ended, in the asynchronous context of its caller. */
  ormStatementEnded: (ended: EndedStatement) => void;
}

/** A statement that MikroORM wrote: what it does to which table, such as `update api_key`, without its values. */
export interface EndedStatement {
  name: string;
  ms: number;
  failed: boolean;
}

/** Sends one statement. Its `name` is one of our own, and empty for a statement of a test or a release. */
export type Send = (statement: pg.QueryArrayConfig) => Promise<pg.QueryArrayResult<unknown[]>>;
