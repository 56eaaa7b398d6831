import { toColumns } from '../column-names.ts';
import type { Statements } from '../database.ts';

/** A change that an operator made, for the audit log. It has ids and settings, never a secret. */
export interface AuditedChange {
  actor: string;
  action: string;
  subject: string;
  /** What the change changed, as it was. Null if it created something, and for a look at a secret or at a client's content. */
  before: object | null;
  /** The same as it is now. Null if it was removed, and for a look. */
  after: object | null;
  /** What else is worth knowing, such as the reference of a payment. */
  detail?: object;
}

/** Records what an operator did. A change is recorded in its own transaction, so that neither exists without the other. */
export const recordAudit = (inside: Statements, change: AuditedChange): Promise<void> => recordAudits(inside, [change]);

/** Records several changes of one transaction. What they changed stands under the names of the columns. */
export async function recordAudits(inside: Statements, changes: readonly AuditedChange[]): Promise<void> {
  const rows = changes.map(({ before, after, detail = {}, ...change }) => ({
    ...change,
    before: before && toColumns(before),
    after: after && toColumns(after),
    detail: toColumns(detail),
  }));
  await inside.query(
    'record-audits',
    `insert into audit_entry (actor, action, subject, before, after, detail)
     select x.actor, x.action, x.subject, x.before, x.after, x.detail
     from jsonb_to_recordset($1::jsonb) as x(actor text, action text, subject text, before jsonb, after jsonb, detail jsonb)`,
    [JSON.stringify(rows)],
  );
}

/** The given settings of a change, with their values before and after it. */
export function changesOf<T extends object>(
  changes: Partial<T>,
  before: T,
  after: T,
): { before: object; after: object } {
  const names = Object.keys(changes) as (keyof T)[];
  const of = (state: T): object => Object.fromEntries(names.map((name) => [name, state[name]]));
  return { before: of(before), after: of(after) };
}
