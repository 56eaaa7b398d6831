import type { JsonObject } from '../domain/json.ts';
import type { EntityManager } from '@mikro-orm/postgresql';
import { Statements, toColumns } from './database.ts';

export interface AuditRecord {
  actor: string;
  action: string;
  subject: string;
  /** Ids and settings, never a secret. */
  detail?: Record<string, unknown>;
}

/**
 * Records a change that an operator made. Call it in the transaction of the change, on its statements or its entities, so that
 * neither exists without the other.
 */
export async function recordAudit(inside: Statements | EntityManager, record: AuditRecord): Promise<void> {
  const { actor, action, subject, detail = {} } = record;
  const values = [actor, action, subject, JSON.stringify(detail)];
  const insertInto = 'insert into audit_entry (actor, action, subject, detail) values';
  if (inside instanceof Statements) await inside.query('record-audit', `${insertInto} ($1, $2, $3, $4::jsonb)`, values);
  else await inside.execute(`${insertInto} (?, ?, ?, ?::jsonb)`, values);
}

/** The detail of a change: every given setting, under the name of its column, with its value before and after. */
export const changesOf = <T extends object>(given: Partial<T>, before: T, after: T): JsonObject =>
  toColumns(
    Object.fromEntries(
      (Object.keys(given) as (keyof T & string)[]).map((name) => [name, { from: before[name], to: after[name] }]),
    ),
  );
