import type { JsonObject } from '../domain/json.ts';
import { toColumns, type Database } from './database.ts';
import { AuditEntry } from './entities/audit-entry.ts';

/** Records a change that an operator made. `detail` has ids and settings, never a secret. */
export async function recordAudit(
  database: Database,
  entry: { actor: string; action: string; subject: string; detail?: Record<string, unknown> },
): Promise<void> {
  await database.query(
    'record-audit',
    'insert into audit_entry (actor, action, subject, detail) values ($1, $2, $3, $4::jsonb)',
    [entry.actor, entry.action, entry.subject, JSON.stringify(entry.detail ?? {})],
  );
}

export interface AuditRow {
  id: number;
  at: Date;
  actor: string;
  action: string;
  subject: string;
  detail: JsonObject;
}

/** The changes of one subject or of all, newest first. */
export async function listAudit(database: Database, subject: string | null, limit: number): Promise<AuditRow[]> {
  const em = (await database.orm()).em.fork();
  const entries = await em.find(AuditEntry, subject === null ? {} : { subject }, { orderBy: { id: 'desc' }, limit });
  return entries.map(({ id, at, actor, action, subject, detail }) => ({ id, at, actor, action, subject, detail }));
}

/** The detail of a change: every given setting, under the name of its column, with its value before and after. */
export const changesOf = <T extends object>(given: Partial<T>, before: T, after: T): JsonObject =>
  toColumns(
    Object.fromEntries(
      (Object.keys(given) as (keyof T & string)[]).map((name) => [name, { from: before[name], to: after[name] }]),
    ),
  );
