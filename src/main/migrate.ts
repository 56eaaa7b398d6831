import { openDatabase } from '../db/database.ts';
import { migrate } from '../db/migrate.ts';
import { configOrExit, doneOrExit } from './run-process.ts';

/** Migrates the database to this release. Concurrent runs wait for each other. */
const config = configOrExit();
const db = openDatabase({ ...config.database, poolMax: 2, statementTimeoutMs: 600_000 });
const applied = await doneOrExit(() => migrate(db));
process.stdout.write(`${JSON.stringify({ applied })}\n`);
await db.close();
