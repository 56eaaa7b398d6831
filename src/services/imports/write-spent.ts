import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { listImportSpent } from '../../db/imports/list-import-spent.ts';
import { spentStatements } from '../../db/imports/spent-statements.ts';
import type { Deps } from '../../deps.ts';
import type { ImportedInstallation, ImportProgram } from '../../domain/imports/imported.ts';
import { exactSum } from '../../domain/imports/source-money.ts';
import { creditValueOf } from '../ledger/credit-value.ts';

export interface WrittenSpent {
  /** Projects, each of which has a file. */
  projects: number;
  /** As `exactSum` writes it. */
  credits: number | string;
}

/**
 * Writes what each imported project has spent and was paid here since its import, as a file of SQL for the former gateway's database: the
 * way back. Nothing here changes.
 */
export async function writeSpent(
  deps: Pick<Deps, 'db' | 'config'>,
  folder: string,
  {
    program,
    source,
    installation,
  }: { program: ImportProgram; source: string; installation: Pick<ImportedInstallation, 'quotaPerUsd' | 'owners'> },
): Promise<WrittenSpent> {
  const [rows, creditValue] = await Promise.all([listImportSpent(deps.db, source), creditValueOf(deps)]);
  const units = { program, quotaPerUsd: installation.quotaPerUsd, creditValue };
  const names = new Map(installation.owners.map(({ id, name }) => [id, name]));
  const keys = Map.groupBy(
    rows.filter(({ kind }) => kind === 'key'),
    ({ projectId }) => projectId,
  );
  const projects = rows.filter(({ kind }) => kind === 'project');
  await mkdir(folder, { recursive: true });
  for (const project of projects) {
    const { externalId: id, projectId } = project;
    const statements = [project, ...(keys.get(projectId) ?? [])].flatMap((row) => spentStatements(row, units));
    const name = names.get(id) ?? id;
    const head = `-- ${name.replace(/\s+/g, ' ')} (${id}): ${project.spent} credits spent and ${project.added} added since the import. Run it once.`;
    const text = [head, 'begin;', ...statements, 'commit;', ''].join('\n');
    await writeFile(join(folder, `${id.replace(/[^\w.-]+/g, '-')}.sql`), text, { mode: 0o600 });
  }
  return { projects: projects.length, credits: exactSum(projects.map(({ spent }) => spent)) };
}
