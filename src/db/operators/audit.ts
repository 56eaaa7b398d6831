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
export async function recordAudit(
  inside: Statements,
  { actor, action, subject, before, after, detail = {} }: AuditedChange,
): Promise<void> {
  await inside.query(
    'record-audit',
    `insert into audit_entry (actor, action, subject, before, after, detail)
     values ($1, $2, $3, $4::jsonb, $5::jsonb, $6::jsonb)`,
    [actor, action, subject, jsonOf(before), jsonOf(after), jsonOf(detail)],
  );
}

/** Under the names of the columns. */
const jsonOf = (facts: object | null): string | null => facts && JSON.stringify(toColumns(facts));

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
