import type { EntityManager } from '@mikro-orm/postgresql';
import type { Page, PageRequest } from '../domain/page.ts';
import type { Database, Statements } from './database.ts';
import { Project } from './entities/project.ts';
import { byTime, pageOfRows, type ListOrder } from './time-order.ts';
import { positionOf } from './time-position-sql.ts';
import { unixSeconds } from './unix-seconds.ts';

export interface ProjectRow {
  projectId: string;
  name: string;
  status: 'active' | 'disabled';
  balance: number;
  reserved: number;
  createdAt: Date;
}

export type ProjectStatus = ProjectRow['status'];

/** One page of the projects with their credits, by the time of their creation (`timePosition`). */
export async function listProjects(
  database: Database,
  filter: { status?: ProjectStatus | undefined; sort: ListOrder },
  { limit, after }: PageRequest,
): Promise<Page<ProjectRow>> {
  const { from, order, values } = byTime('p', filter.sort, after);
  const rows = await database.query<ProjectRow & { position: string }>(
    `operator-projects-${filter.sort}`,
    `select p.id as project_id, p.name, p.status, a.balance, a.reserved, p.created_at, ${positionOf('p')} as position
     from project p join credit_account a on a.project_id = p.id
     where ${from} and ($3::text is null or p.status = $3) order by ${order} limit $4`,
    [...values, filter.status ?? null, limit + 1],
  );
  return pageOfRows(rows, limit);
}

/** Enables or disables a project; false if it had that status already, null if there is no such project. */
export async function switchProject(em: EntityManager, projectId: string, enabled: boolean): Promise<boolean | null> {
  const status = enabled ? 'active' : 'disabled';
  const changed = await em.nativeUpdate(Project, { id: projectId, status: { $ne: status } }, { status });
  return changed > 0 || ((await em.count(Project, { id: projectId })) > 0 ? false : null);
}

/** The sealed callback secrets of a project. */
export interface StoredSecret {
  sealed: string;
  /** The previous secret while it also signs. */
  sealedPrevious: string | null;
  /** The end of the overlap in unix seconds; null if no rotation overlaps. */
  previousUntil: number | null;
}

/** Uses the clock of the database, as the signatures of callbacks do. Null if there is no such project. */
export async function readProjectSecret(database: Database, projectId: string): Promise<StoredSecret | null> {
  return database.first<StoredSecret>(
    'operator-project-secret',
    `select p.callback_secret as sealed, o.sealed as sealed_previous, o.until as previous_until
     from project p left join lateral (
       select p.callback_secret_previous as sealed, ${unixSeconds('p.callback_secret_previous_until')} as until
       where p.callback_secret_previous is not null and p.callback_secret_previous_until > clock_timestamp()
     ) o on true
     where p.id = $1`,
    [projectId],
  );
}

/**
 * Replaces the callback secret. The replaced secret also signs for `overlapSeconds`. Changes nothing and returns false for an unknown
 * project and, unless forced, during the overlap of an earlier rotation.
 */
export async function replaceProjectSecret(
  inside: Statements,
  given: { projectId: string; sealed: string; overlapSeconds: number; force: boolean },
): Promise<boolean> {
  return inside.returnsRow(
    'operator-replace-secret',
    `update project set callback_secret_previous = callback_secret, callback_secret = $2,
       callback_secret_previous_until = clock_timestamp() + make_interval(secs => $3)
     where id = $1 and ($4 or callback_secret_previous is null
       or coalesce(callback_secret_previous_until <= clock_timestamp(), true))
     returning id`,
    [given.projectId, given.sealed, given.overlapSeconds, given.force],
  );
}
