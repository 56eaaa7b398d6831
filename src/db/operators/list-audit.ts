import type { JsonObject } from '../../domain/json.ts';
import type { Page } from '../../domain/page.ts';
import type { Database } from '../database.ts';
import {
  inTimeOrder,
  isByTime,
  operatorPageText,
  pageOfRows,
  sortedPageOf,
  sortedText,
  type ListRequest,
  type Positioned,
  type SortedRow,
} from '../list-order.ts';

export interface AuditRow {
  id: number;
  at: Date;
  actor: string;
  action: string;
  subject: string;
  /** What changed, as it was and as it is. Both are null for a look, and `before` for a creation. */
  before: JsonObject | null;
  after: JsonObject | null;
  detail: JsonObject;
}

export interface AuditFilter {
  subject?: string | undefined;
  /** A part of the name or of the identity of who made the change, in any case. */
  by?: string | undefined;
  action?: string | undefined;
}

/**
 * One page of the changes. Subjects, actions and actors have an index each in the order of time. The first of several filters is read by it: a
 * subject has the fewest changes. The actors are few, and those that `by` names are found by their index first.
 */
export async function listAudit(
  database: Database,
  { subject, action, by }: AuditFilter,
  request: ListRequest,
): Promise<Page<AuditRow>> {
  const values: unknown[] = [];
  const bind = (value: unknown): string => `$${values.push(value)}`;
  const { sort = 'newest' } = request;
  const name = `list-audit-${sort}${subject === undefined ? '' : '-s'}${action === undefined ? '' : '-a'}${by === undefined ? '' : '-b'}`;
  const bySubject = subject === undefined ? '' : ` and e.subject = ${bind(subject)}`;
  const byAction = action === undefined ? '' : ` and e.action = ${bind(action)}`;
  const part = by === undefined ? '' : bind(by);
  const byActor = part === '' ? '' : ` and ${isNamed('e.actor', part)}`;
  if (!isByTime(sort)) {
    const match = `true${bySubject}${byAction}${byActor}`;
    const text = sortedText({ ...auditRows, match, select: columns }, { ...request, sort }, bind);
    const sorted = await database.query<AuditRow & SortedRow>(name, text, values);
    return sortedPageOf(sorted, request.limit);
  }
  const { where, order, position } = inTimeOrder(auditRows, { ...request, sort }, bind);
  const most = `${bind(request.limit + 1)}::int`;
  const first = bySubject === '' ? byAction : bySubject;
  const others = bySubject === '' ? byActor : `${byAction}${byActor}`;
  // A filter is a whole before the others, because the planner would read another index for an order that it finds there.
  const ofFirst = first === '' ? '' : `(select * from audit_entry e where ${where}${first} offset 0)`;
  const found =
    first === ''
      ? part === ''
        ? `select * from audit_entry e where ${where}`
        : ofActors(part, `${where} order by ${order} limit ${most}`)
      : others === ''
        ? `select * from audit_entry e where ${where}${first}`
        : `select * from ${ofFirst} e where true${others}`;
  const rows = await database.query<AuditRow & Positioned>(
    name,
    operatorPageText(`select ${columns}, ${position} as position from (${found}) e order by ${order} limit ${most}`),
    values,
  );
  return pageOfRows(rows, request.limit);
}

const isNamed = (actor: string, part: string): string => `strpos(lower(${actor}), lower(${part}::text)) > 0`;

/** The newest entries of each actor whose name or identity has this part. Each actor is one step in its index. */
const ofActors = (part: string, page: string): string => `
  with recursive actor as (
    (select e.actor as name from audit_entry e order by e.actor limit 1)
    union all
    select (select e.actor from audit_entry e where e.actor > actor.name order by e.actor limit 1) from actor where actor.name is not null)
  select e.* from actor cross join lateral (select * from audit_entry e where e.actor = actor.name and ${page}) e
  where ${isNamed('actor.name', part)}`;

const columns = 'e.id, e.at, e.actor, e.action, e.subject, e.before, e.after, e.detail';

/** The columns of the list of changes that it can be sorted by. */
export const auditColumns = {
  id: { number: 'e.id' },
  at: { time: 'e.at' },
  actor: 'e.actor',
  action: 'e.action',
  subject: 'e.subject',
} as const;

const auditRows = {
  table: 'audit_entry',
  row: 'e',
  time: 'at',
  idType: 'bigint',
  joins: '',
  columns: auditColumns,
} as const;
