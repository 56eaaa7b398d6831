import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));

/**
 * Every folder beside this file is a migration of tables. Migrations run in the order of their names, and so do the SQL files of
 * each. A released migration never changes. Functions are not migrated: `../sql/functions.ts` applies them.
 */
export const migrations = readdirSync(here, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => ({ name, folder: join(here, name) }))
  .sort((a, b) => (a.name < b.name ? -1 : 1));

/** The statements of a migration. */
export const sqlOf = ({ folder }: { folder: string }): string =>
  readdirSync(folder)
    .sort()
    .map((file) => readFileSync(join(folder, file), 'utf8'))
    .join('\n');
