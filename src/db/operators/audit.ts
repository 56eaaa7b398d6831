import type { EntityManager } from '@mikro-orm/postgresql';
import { Statements, toColumns } from '../database.ts';

/** A change that an operator made, for the audit log. It has ids and settings, never a secret. */
export interface AuditedChange {
  actor: string;
  action: string;
  subject: string;
  /** What the change changed, as it was. Null if it created something. */
  before: object | null;
  /** The same as it is now. Null if it was removed. */
  after: object | null;
  /** What else is worth knowing, such as the reference of a payment. */
  detail?: object;
}

/**
 * Records a change that an operator made. Call it in the transaction of the change, on its statements or its entities, so that
 * neither exists without the other.
 */
export const recordAudit = (inside: Statements | EntityManager, change: AuditedChange): Promise<void> =>
  insertEntry(inside, change);

/** Records that an operator looked at a secret or at a client's content. */
export const recordLook = (
  inside: Statements | EntityManager,
  look: Pick<AuditedChange, 'actor' | 'action' | 'subject'>,
): Promise<void> => insertEntry(inside, { ...look, before: null, after: null });

async function insertEntry(
  inside: Statements | EntityManager,
  { actor, action, subject, before, after, detail = {} }: AuditedChange,
): Promise<void> {
  const values = [actor, action, subject, jsonOf(before), jsonOf(after), jsonOf(detail)];
  const insertInto = 'insert into audit_entry (actor, action, subject, before, after, detail) values';
  if (inside instanceof Statements) {
    await inside.query('record-audit', `${insertInto} ($1, $2, $3, $4::jsonb, $5::jsonb, $6::jsonb)`, values);
  } else await inside.execute(`${insertInto} (?, ?, ?, ?::jsonb, ?::jsonb, ?::jsonb)`, values);
}

/** Under the names of the columns. */
const jsonOf = (facts: object | null): string | null => facts && JSON.stringify(toColumns(facts));

/** The given settings of a change, with their values before and after it. */
export function changesOf<T extends object>(given: Partial<T>, before: T, after: T): { before: object; after: object } {
  const names = Object.keys(given) as (keyof T)[];
  const of = (state: T): object => Object.fromEntries(names.map((name) => [name, state[name]]));
  return { before: of(before), after: of(after) };
}
