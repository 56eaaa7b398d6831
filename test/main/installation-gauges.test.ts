import { describe, expect, it } from '@jest/globals';
import { createInstallationGauges } from '../../src/main/installation-gauges.ts';
import { testConfig } from '../support/test-config.ts';
import type { WorkInHand } from '../../src/db/tasks/work-in-hand.ts';
import type { Deps } from '../../src/deps.ts';
import { quickSettings } from '../support/gateway-settings.ts';
import { metricValue } from '../support/metric-value.ts';

const { KEY_PEPPERS, MASTER_KEYS } = quickSettings;
const config = testConfig({ DATABASE_URL: 'postgresql://127.0.0.1/none', KEY_PEPPERS, MASTER_KEYS });
const channels = { list: () => Promise.resolve({ channels: [], nowMs: 0 }) } as unknown as Deps['channels'];
const workflows = { isReachable: () => Promise.resolve(true) };
const files = { freeBytes: () => Promise.resolve(5e9), exists: () => Promise.resolve(false) };
const gaugesOver = (query: () => Promise<unknown[]>) =>
  createInstallationGauges({ config, channels, workflows, files, db: { query } as unknown as Deps['db'] });

const nothing: WorkInHand = {
  chatHolds: 0,
  chatCreditsHeld: 0,
  mediaHolds: 0,
  mediaCreditsHeld: 0,
  expiredChatAge: 0,
  undecidedTaskAge: 0,
  unstartedTaskAge: 0,
  staleTaskAge: 0,
  parkedJobs: 0,
  duePollAge: 0,
  pendingDeliveries: 0,
  dueDeliveryAge: 0,
  backupAgeSeconds: null,
  walNotArchivedSeconds: 0,
  isRestored: false,
};

describe('the gauges of the installation', () => {
  it('say that the database is down when it does not answer, and nothing of what it would know', async () => {
    for (const query of [() => new Promise<never>(() => undefined), () => Promise.reject(new Error('down'))]) {
      const page = await gaugesOver(query).page();
      expect(metricValue(page, 'tollgate_database_up')).toBe(0);
      expect(page).not.toContain('tollgate_holds');
    }
  });

  it('are read once for the scrapes of a few seconds', async () => {
    let reads = 0;
    const gauges = gaugesOver(() => Promise.resolve([{ ...nothing, chatHolds: ++reads }]));
    const pages = await Promise.all([gauges.page(), gauges.page()]);
    pages.push(await gauges.page());
    expect(pages.map((page) => metricValue(page, 'tollgate_holds{kind="chat"}'))).toEqual([1, 1, 1]);
  });

  it('say whether the file store answers, and how much its disk has free', async () => {
    const away = { freeBytes: () => Promise.resolve(5e9), exists: () => Promise.reject(new Error('away')) };
    const db = { query: () => Promise.resolve([nothing]) } as unknown as Deps['db'];
    const page = await createInstallationGauges({ config, channels, workflows, files, db }).page();
    expect([metricValue(page, 'tollgate_files_up'), metricValue(page, 'tollgate_files_free_bytes')]).toEqual([1, 5e9]);
    const pageWithout = await createInstallationGauges({ config, channels, workflows, files: away, db }).page();
    expect(metricValue(pageWithout, 'tollgate_files_up')).toBe(0);
    expect(pageWithout).not.toContain('tollgate_files_free_bytes');
  });

  it('say how old the newest backup is, and nothing where none was recorded', async () => {
    const pageOf = (work: WorkInHand) => gaugesOver(() => Promise.resolve([work])).page();
    expect(await pageOf(nothing)).not.toContain('tollgate_backup_age_seconds');
    const page = await pageOf({ ...nothing, backupAgeSeconds: 3_600, walNotArchivedSeconds: 700 });
    expect(metricValue(page, 'tollgate_backup_age_seconds')).toBe(3_600);
    expect(metricValue(page, 'tollgate_wal_not_archived_seconds')).toBe(700);
  });
});
