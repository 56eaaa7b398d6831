import type { SourceDatabase, SourceRow } from '../../db/imports/source-database.ts';
import type { ImportedInstallation } from '../../domain/imports/imported.ts';

export type OneApiProgram = 'one-api' | 'new-api';

/** What the readers of the tables share. */
export interface OneApiImport {
  program: OneApiProgram;
  source: SourceDatabase;
  installation: ImportedInstallation;
  /** Credits of the quota in a column; null beyond the range of exact integers. */
  credits: (row: SourceRow, column: string) => number | null;
  /** Names of users by their id, for messages. */
  userNames: Map<string, string>;
  creditValue: number;
}

/** Whether new-api has marked a row as deleted. */
export const isDeleted = (row: SourceRow): boolean => (row['deleted_at'] ?? null) !== null && row['deleted_at'] !== '';
