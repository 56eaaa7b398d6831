import type { Database } from './database.ts';

/** Remembers what an operator changed. `detail` holds ids and settings, never a secret. */
export async function recordAudit(
  database: Database,
  entry: { actor: string; action: string; subject: string; detail?: Record<string, unknown> },
): Promise<void> {
  await database.query(
    {
      name: 'record-audit',
      text: 'insert into audit_entry (actor, action, subject, detail) values ($1, $2, $3, $4::jsonb)',
    },
    [entry.actor, entry.action, entry.subject, JSON.stringify(entry.detail ?? {})],
  );
}
