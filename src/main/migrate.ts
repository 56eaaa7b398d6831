import { meetPooler } from '../db/pooler.ts';
import { openDatabase } from '../db/database.ts';
import { contract, mayContract, migrate } from '../db/migrate.ts';
import { findRuntimeRole } from '../db/runtime-role.ts';
import { configOrExit, doneOrExit } from './run-process.ts';

/** Migrates the database to this release. Concurrent runs wait for each other. `--contract` also takes the second step of an upgrade. */
const unknown = process.argv.slice(2).filter((word) => word !== '--contract');
if (unknown.length > 0) {
  process.stderr.write(`migrate does not know ${unknown.join(' ')}. It takes --contract or nothing.\n`);
  process.exit(2);
}
const config = configOrExit();
const { url, migrateUrl } = config.database;
const open = (via: string) => openDatabase({ ...config.database, url: via, poolMax: 2, statementTimeoutMs: 600_000 });
const whoMigrates = 'MIGRATE_DATABASE_URL must name the role that owns the tables, and without it DATABASE_URL must.';
const isRefusedToRole = (error: unknown): error is Error =>
  error instanceof Error && 'code' in error && error.code === '42501';

for (const via of new Set([migrateUrl || url, url])) await doneOrExit(() => meetPooler(via));
const secondStep =
  'The former release still serves and starts on this schema. Once none of its processes runs, run the second step: npm run migrate -- --contract\n';
const secondStepTaken =
  'The second step is done: the former release starts no more on this database. The only way back is a restore.\n';
const noSecondStep = 'There was no second step to take: no former release could start on this database.\n';

const owner = open(migrateUrl || url);
const runtime = open(url);
const applied = await doneOrExit(async () =>
  migrate(owner, {
    runtimeRole: migrateUrl === '' ? null : await findRuntimeRole({ owner, runtime }),
    creditValue: config.accounting.creditValueMicroUsd,
    detailDays: config.retention.detailDays,
  }).catch((cause: unknown) => {
    throw isRefusedToRole(cause) ? new Error(`${cause.message}. ${whoMigrates}`, { cause }) : cause;
  }),
);
const isOpen = await doneOrExit(() => mayContract(owner));
const contracted = process.argv.includes('--contract') ? await doneOrExit(() => contract(owner)) : null;
process.stdout.write(`${JSON.stringify({ applied, ...(contracted && { contracted }) })}\n`);
if (contracted) process.stderr.write(isOpen ? secondStepTaken : noSecondStep);
else if (isOpen) process.stderr.write(secondStep);
await Promise.all([owner.close(), runtime.close()]);
