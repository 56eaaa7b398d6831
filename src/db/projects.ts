import type { EntityManager } from '@mikro-orm/postgresql';
import type { Database, Statements } from './database.ts';
import { CreditAccount } from './entities/credit-account.ts';
import { Project } from './entities/project.ts';
import { unixSeconds } from './unix-seconds.ts';

export interface ProjectRow {
  projectId: string;
  name: string;
  status: 'active' | 'disabled';
  balance: number;
  reserved: number;
  createdAt: Date;
}

/** Projects with their credits, oldest first. */
export async function listProjects(database: Database, limit: number): Promise<ProjectRow[]> {
  const em = (await database.orm()).em.fork();
  const orderBy = { project: { createdAt: 'asc', id: 'asc' } } as const;
  const accounts = await em.find(CreditAccount, {}, { populate: ['project'], orderBy, limit });
  return accounts.map(({ project: { id, name, status, createdAt }, balance, reserved }) => {
    return { projectId: id, name, status, balance, reserved, createdAt };
  });
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
