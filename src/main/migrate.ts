import { openDatabase } from '../db/database.ts';
import { migrate } from '../db/migrate.ts';
import { configOrExit, doneOrExit } from './run-process.ts';

/** Brings the database up to this code's schema, once per release. Two at once wait for each other. */
const config = configOrExit();
const db = await openDatabase({
  url: config.database.url,
  poolMax: 2,
  connectTimeoutMs: config.database.connectTimeoutMs,
  statementTimeoutMs: 600_000,
});
const applied = await doneOrExit(() => migrate(db));
process.stdout.write(`${JSON.stringify({ applied })}\n`);
await db.close();
