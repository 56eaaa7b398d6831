import type { SourceDatabase, SourceRow } from '../../db/imports/source-database.ts';
import type { ImportedInstallation } from '../../domain/imports/imported.ts';

/** What the readers of the tables share. */
export interface LitellmImport {
  source: SourceDatabase;
  installation: ImportedInstallation;
  creditValue: number;
  teams: ReadonlyMap<string, SourceRow>;
  users: ReadonlyMap<string, SourceRow>;
  budgets: ReadonlyMap<string, SourceRow>;
}

/** The ids of owners: teams and users have ids of their own. */
export const teamOwner = (id: string): string => `team:${id}`;
export const userOwner = (id: string): string => `user:${id}`;
