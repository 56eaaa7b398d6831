import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readBacklog } from '../../../src/db/operators/overview.ts';
import type { Database } from '../../../src/db/database.ts';
import { alarmOf, lastingAlarms } from '../../../src/domain/operators/alarm.ts';
import { buildDeps, type Built } from '../../../src/main/build-deps.ts';
import { createFilesWatch } from '../../../src/main/watch-files.ts';
import { installationConditions } from '../../../src/services/overview/installation-conditions.ts';
import { readOverview } from '../../../src/services/overview/read-overview.ts';
import { createTaskAdmission } from '../../../src/services/tasks/create/task-admission.ts';
import { testConfig } from '../../support/test-config.ts';
import { run } from '../../db/books.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { quickSettings } from '../../support/gateway-settings.ts';
import { eventually } from '../../support/eventually.ts';

let scratch: TestDatabase;
let db: Database;
let built: Built;
beforeAll(async () => {
  scratch = await createTestDatabase();
  db = await scratch.open();
  const { KEY_PEPPERS, MASTER_KEYS } = quickSettings;
  const settings = { KEY_PEPPERS, MASTER_KEYS, DATABASE_URL: scratch.url, LOG_LEVEL: 'error' };
  // Alarms are lines of the log, which is discarded here.
  built = await buildDeps(testConfig(settings), 'test', { write: () => undefined });
});
afterAll(async () => {
  await built?.close();
  await scratch?.drop();
});

const shown = async (): Promise<string[]> =>
  (await readOverview(built.deps)).alarms.map(({ name }) => name).filter((name) => name !== 'no_channel');
const untilShown = (name: string) => eventually(async () => (await shown()).includes(name), { what: name });
const aMinuteLater = () => run(db, `update alarm set last_at = last_at - interval '61 seconds'`);

describe('the conditions of the installation in the overview', () => {
  it.each(lastingAlarms)('%s is shown while a process raises it, and not a minute later', async (name) => {
    built.deps.logger.error(alarmOf(name), 'a test raises it');
    await untilShown(name);
    await aMinuteLater();
    expect(await shown()).toEqual([]);
  });

  it('creates that are refused raise creates_refused', async () => {
    await createTaskAdmission(built.deps)
      .assertNotOverloaded(-1)
      .catch(() => undefined);
    await untilShown('creates_refused');
    await aMinuteLater();
  });

  it('a worker raises files_away while the file store does not answer for 15 s, and disk_full while its disk has little left', async () => {
    let seconds = 0;
    const { logger } = built.deps;
    const away = { freeBytes: () => Promise.reject(new Error('away')), exists: () => Promise.resolve(false) };
    const watch = createFilesWatch({ logger, files: away }, () => seconds * 1_000);
    await watch();
    seconds = 14;
    await watch();
    expect(await shown()).toEqual([]);
    seconds = 15;
    await watch();
    await untilShown('files_away');
    await createFilesWatch({ logger, files: { ...away, freeBytes: () => Promise.resolve(5e8) } })();
    await untilShown('disk_full');
    await aMinuteLater();
  });

  it('a backup of more than a day and a half ago is shown, a younger one and none are not', async () => {
    expect(await shown()).toEqual([]);
    const backedUp = (before: string) =>
      run(db, `update installation set last_backup_at = clock_timestamp() - $1::interval`, [before]);
    await backedUp('35 hours');
    expect(await shown()).toEqual([]);
    await backedUp('37 hours');
    const [alarm] = (await readOverview(built.deps)).alarms.filter(({ name }) => name === 'backup_old');
    expect(alarm).toMatchObject({ kind: 'installation', message: 'The newest backup is 37 hours old' });
    await backedUp('1 hour');
  });

  it('WAL that PostgreSQL has failed to archive for ten minutes is shown', async () => {
    const backlog = await readBacklog(db, []);
    expect(backlog.walNotArchivedSeconds).toBe(0);
    const namesAfter = (walNotArchivedSeconds: number) =>
      installationConditions({ ...backlog, walNotArchivedSeconds }).map(({ name }) => name);
    expect([namesAfter(600), namesAfter(601)]).toEqual([[], ['wal_not_archived']]);
  });
});
