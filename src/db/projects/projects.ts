import type { Page } from '../../domain/page.ts';
import type { Database } from '../database.ts';
import { loadEntities } from '../entities/load-entities.ts';
import { recordAudit } from '../operators/audit.ts';
import { hasText, inOrder, operatorPageText, pageOfRows, type ListRequest, type Positioned } from '../list-order.ts';
import type { ProjectSettings } from './project-settings.ts';

export interface ProjectRow extends ProjectSettings {
  projectId: string;
  status: 'active' | 'disabled';
  /** What an import brought of it: remarks and names. */
  metadata: Record<string, string>;
  balance: number;
  reserved: number;
  createdAt: Date;
}

export type ProjectStatus = ProjectRow['status'];

/** One page of the projects with their credits. `plan`: the name of a plan, or `none` for those without one. */
export async function listProjects(
  database: Database,
  { status, plan, q }: { status?: ProjectStatus | undefined; plan?: string | undefined; q?: string | undefined },
  request: ListRequest,
): Promise<Page<ProjectRow>> {
  const values: unknown[] = [status ?? null, request.limit + 1, q ?? null, plan ?? null];
  const { where, order, position } = inOrder('p', projectColumns, request, values);
  const rows = await database.query<ProjectRow & Positioned>(
    `operator-projects-${request.sort}`,
    operatorPageText(`select p.id as project_id, p.name, p.note, p.status, n.name as plan, a.balance, a.reserved, a.overdraft,
       p.alert_at, p.alert_url, p.alert_mail, p.trace_content, p.metadata, p.created_at, ${position} as position
     from project p join credit_account a on a.project_id = p.id left join plan n on n.id = p.plan_id
     where ${where} and ($1::text is null or p.status = $1) and ($4::text is null or coalesce(n.name, 'none') = $4)
       and ${hasText('$3', ['p.name', 'p.id'])} order by ${order} limit $2::int`),
    values,
  );
  return pageOfRows(rows, request.limit);
}

/** One project with its credits; null if there is none. */
export const findProject = (database: Database, projectId: string): Promise<ProjectRow | null> =>
  database.first(
    'operator-project',
    `select p.id as project_id, p.name, p.note, p.status, n.name as plan, a.balance, a.reserved, a.overdraft,
       p.alert_at, p.alert_url, p.alert_mail, p.trace_content, p.metadata, p.created_at
     from project p join credit_account a on a.project_id = p.id left join plan n on n.id = p.plan_id where p.id = $1`,
    [projectId],
  );

/** The columns of the list of projects that it can be sorted by. */
export const projectColumns = {
  project_id: 'p.id',
  name: 'p.name',
  note: 'p.note',
  status: 'p.status',
  plan: 'n.name',
  balance: { number: 'a.balance' },
  reserved: { number: 'a.reserved' },
  overdraft: { number: 'a.overdraft' },
  alert_url: 'p.alert_url',
  trace_content: 'p.trace_content',
  created_at: { time: 'p.created_at' },
} as const;

/** Adds a project with an empty account. Its callback secret is sealed. */
export const insertProject = (
  database: Database,
  {
    projectId,
    name,
    callbackSecret,
    actor,
  }: { projectId: string; name: string; callbackSecret: string; actor: string },
): Promise<void> =>
  database.transaction('begin', async (_query, inside) => {
    const { CreditAccount, Project } = await loadEntities();
    const em = await inside.entities();
    em.create(CreditAccount, { project: em.create(Project, { id: projectId, name, callbackSecret }) });
    const after = { name, status: 'active' };
    await recordAudit(inside, { actor, action: 'projects.create', subject: projectId, before: null, after });
  });

/** Enables or disables a project; false if it had that status already, null if there is no such project. */
export const switchProject = (
  database: Database,
  { projectId, enabled, actor }: { projectId: string; enabled: boolean; actor: string },
): Promise<boolean | null> =>
  database.transaction('begin', async (_query, inside) => {
    const { Project } = await loadEntities();
    const em = await inside.entities();
    const [before, after] = enabled ? (['disabled', 'active'] as const) : (['active', 'disabled'] as const);
    const changed = await em.nativeUpdate(Project, { id: projectId, status: before }, { status: after });
    if (changed === 0) return (await em.count(Project, { id: projectId })) > 0 ? false : null;
    await recordAudit(inside, {
      actor,
      action: enabled ? 'projects.enable' : 'projects.disable',
      subject: projectId,
      before: { status: before },
      after: { status: after },
    });
    return true;
  });
