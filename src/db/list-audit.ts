import type { JsonObject } from '../domain/json.ts';
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

/**
 * The changes of one subject or of all, newest first. In a file of its own, because it needs MikroORM, which API servers and workers
 * do not load.
 */
export async function listAudit(database: Database, subject: string | null, limit: number): Promise<AuditRow[]> {
  const em = (await database.orm()).em.fork();
  const entries = await em.find(AuditEntry, subject === null ? {} : { subject }, { orderBy: { id: 'desc' }, limit });
  return entries.map(({ id, at, actor, action, subject, detail }) => ({ id, at, actor, action, subject, detail }));
}
