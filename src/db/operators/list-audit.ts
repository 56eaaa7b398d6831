import type { JsonObject } from '../../domain/json.ts';
import type { Page, PageRequest } from '../../domain/page.ts';
import { boundedPageOf, boundedText, OPERATOR_PAGE_BYTES_MAX, type Bounded } from '../bounded-page.ts';
import type { Database } from '../database.ts';

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
  actor?: string | undefined;
  action?: string | undefined;
}

/** One page of the changes, newest first. Each filter has an index in this order. The first of several is read by it: a subject has the fewest changes. */
export async function listAudit(
  database: Database,
  { subject, actor, action }: AuditFilter,
  { limit, after }: PageRequest,
): Promise<Page<AuditRow>> {
  const filters = Object.entries({ subject, action, actor }).filter(([, value]) => value !== undefined);
  const [first, ...others] = filters.map(([column], index) => `${column} = $${index + 3}`);
  const ofFirst = `audit_entry where ${first} and (at, id) < (coalesce((select at from audit_entry where id = $1), 'infinity'), $1::bigint)`;
  const inOrder = 'order by at desc, id desc';
  const ofFilters =
    others.length === 0
      ? `${ofFirst} ${inOrder}`
      : `(select * from ${ofFirst} offset 0) e where ${others.join(' and ')} ${inOrder}`;
  const rows = await database.query<AuditRow & Bounded>(
    ['list-audit', ...filters.map(([column]) => column)].join('-'),
    boundedText(
      `select id, at, actor, action, subject, before, after, detail
     from ${first === undefined ? 'audit_entry where id < $1::bigint order by id desc' : ofFilters} limit $2`,
      OPERATOR_PAGE_BYTES_MAX,
    ),
    [after === null ? Number.MAX_SAFE_INTEGER : Number(after), limit + 1, ...filters.map(([, value]) => value)],
  );
  return boundedPageOf(rows, limit, ({ id }) => String(id));
}

/** Matches the position of an entry. */
export const auditPosition = /^\d{1,15}$/;
