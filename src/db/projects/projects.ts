import type { EntityManager } from '@mikro-orm/postgresql';
import type { Page, PageRequest } from '../../domain/page.ts';
import type { Database } from '../database.ts';
import { Project } from '../entities/project.ts';
import { byTime, operatorPageText, pageOfRows, type ListOrder, type Positioned } from '../time-order.ts';
import { positionOf } from '../time-position-sql.ts';

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
  const rows = await database.query<ProjectRow & Positioned>(
    `operator-projects-${filter.sort}`,
    operatorPageText(`select p.id as project_id, p.name, p.status, a.balance, a.reserved, p.created_at, ${positionOf('p')} as position
     from project p join credit_account a on a.project_id = p.id
     where ${from} and ($3::text is null or p.status = $3) order by ${order} limit $4`),
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
