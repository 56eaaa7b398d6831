import type { JsonObject } from '../domain/json.ts';
import { pageOf, type Page, type PageRequest } from '../domain/page.ts';
import type { Database } from './database.ts';
import { AuditEntry } from './entities/audit-entry.ts';

export interface AuditRow {
  id: number;
  at: Date;
  actor: string;
  action: string;
  subject: string;
  detail: JsonObject;
}

export interface AuditFilter {
  subject?: string | undefined;
  actor?: string | undefined;
  action?: string | undefined;
}

/**
 * One page of the changes, newest first. In a file of its own, because it needs MikroORM, which API servers and workers do not load.
 */
export async function listAudit(
  database: Database,
  filter: AuditFilter,
  { limit, after }: PageRequest,
): Promise<Page<AuditRow>> {
  const em = (await database.orm()).em.fork();
  const given = Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));
  const where = { ...given, ...(after !== null && { id: { $lt: Number(after) } }) };
  const entries = await em.find(AuditEntry, where, { orderBy: { id: 'desc' }, limit: limit + 1 });
  const rows = entries.map(({ id, at, actor, action, subject, detail }) => ({
    id,
    at,
    actor,
    action,
    subject,
    detail,
  }));
  return pageOf(rows, limit, ({ id }) => String(id));
}

/** Matches the position of an entry. */
export const auditPosition = /^\d{1,15}$/;
