import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readBacklog } from '../../../src/db/operators/backlog.ts';
import type { Database } from '../../../src/db/database.ts';
import { alarmOf, lastingAlarms } from '../../../src/domain/operators/alarm.ts';
import { buildDeps, type Built } from '../../../src/main/build-deps.ts';
import { createProcessWatch } from '../../../src/main/watch-process.ts';
import { createFilesWatch } from '../../../src/main/watch-files.ts';
import { listAlarms } from '../../../src/services/operators/list-alarms.ts';
import { silenceAlarm } from '../../../src/services/operators/silence-alarm.ts';
import { installationConditions } from '../../../src/services/operators/installation-conditions.ts';
import { readOverview } from '../../../src/services/operators/read-overview.ts';
import { createTaskAdmission } from '../../../src/services/tasks/create/task-admission.ts';
import { testConfig } from '../../support/test-config.ts';
import { rowsOf, run } from '../../db/books.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { quickSettings } from '../../support/gateway-settings.ts';
import { eventually } from '../../support/eventually.ts';

let scratch: TestDatabase;
let db: Database;
let built: Built;
beforeAll(async () => {
  scratch = await createTestDatabase();
  db = await scratch.open();
  const { KEY_PEPPERS, MASTER_KEYS, DATABASE_STATEMENT_TIMEOUT_MS, DATABASE_CONNECT_TIMEOUT_MS } = quickSettings;
  const patience = { DATABASE_STATEMENT_TIMEOUT_MS, DATABASE_CONNECT_TIMEOUT_MS };
  const settings = { KEY_PEPPERS, MASTER_KEYS, DATABASE_URL: scratch.url, LOG_LEVEL: 'error', ...patience };
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
    const backlog = await readBacklog(db, { scheduledJobNames: [], creditValue: 1 });
    expect(backlog.walNotArchivedSeconds).toBe(0);
    const namesAfter = (walNotArchivedSeconds: number) =>
      installationConditions({ ...backlog, walNotArchivedSeconds }).map(({ name }) => name);
    expect([namesAfter(600), namesAfter(601)]).toEqual([[], ['wal_not_archived']]);
  });

  it.each([
    ['many_errors', { all: 100, failed: 11 }, 1],
    ['many_errors', { all: 1_000, failed: 80 }, 10],
    ['error_budget', { all: 1_000, failed: 20 }, 10],
  ])('a process raises %s while too many of its answers are 5xx, and not for a few', (name, perTurn, turns) => {
    const process = pretendProcess();
    process.reading.all += 9;
    process.reading.failed += 9;
    process.turn();
    expect(process.raised()).toEqual([]);
    for (let turn = 0; turn < turns; turn++) {
      process.reading.all += perTurn.all;
      process.reading.failed += perTurn.failed;
      process.turn();
    }
    expect(process.raised()).toContain(name);
  });

  it.each([
    ['pool_exhausted', { waiting: 1 }, 5],
    ['event_loop_slow', { delaySeconds: 0.6 }, 11],
  ])('a process raises %s when it has lasted, and not again after it', (name, fault, turns) => {
    const process = pretendProcess();
    const calm = { ...process.reading };
    Object.assign(process.reading, fault);
    for (let turn = 1; turn < turns; turn++) process.turn();
    expect(process.raised()).toEqual([]);
    process.turn();
    expect(process.raised()).toEqual([name]);
    Object.assign(process.reading, calm);
    process.turn();
    expect(process.raised()).toEqual([]);
  });

  it('a model that costs more at a channel than it earned in the last hour is shown, and not what it lost before', async () => {
    await run(
      db,
      `insert into channel (id, name, adapter, base_url, credential, groups, enabled)
       values ('chn_loss', 'dear', 'openai', 'https://provider.example', 'sealed', '{}', false)`,
    );
    const insertSlot = (model: string, ago: string, credits: number) =>
      run(
        db,
        `insert into usage_slot values (date_bin('30 minutes', clock_timestamp() - $2::interval, 'epoch'), 'prj_loss', '', $1, 'chn_loss',
           1, 0, 0, $3, 500, 0, 0, 0, 0, 0, 0)`,
        [model, ago, credits],
      );
    // A credit is worth a micro-USD.
    for (const [model, ago, credits] of [
      ['long-ago', '2 hours', 0],
      ['earns', '0 hours', 501],
      ['loses', '0 hours', 0],
    ] as const) {
      await insertSlot(model, ago, credits);
    }
    const [alarm, ...others] = (await readOverview(built.deps)).alarms.filter(({ name }) => name !== 'no_channel');
    expect(alarm).toMatchObject({
      name: 'sale_at_loss',
      subject: 'dear',
      message: 'loses costs more at dear than it earns',
    });
    expect(others).toEqual([]);
    await insertSlot('loses-too', '0 hours', 0);
    expect((await readOverview(built.deps)).alarms.filter(({ name }) => name !== 'no_channel')).toMatchObject([
      { message: 'loses costs more at dear than it earns, and 1 more', count: 2, subjects: ['dear'] },
    ]);
    await run(db, 'delete from usage_slot');
  });

  it('a provider that is away is one alarm, however many of its channels and models it trips, and hides no other provider', async () => {
    for (const [name, url] of [
      ['away-1', 'https://away.example/v1'],
      ['away-2', 'https://away.example/v2'],
      ['apart', 'https://apart.example'],
    ]) {
      await run(
        db,
        `insert into channel (id, name, adapter, base_url, credential, groups) values ('chn_' || $1, $1, 'openai', $2, 'sealed', '{}')`,
        [name, url],
      );
      for (const model of ['one', 'two'])
        await run(db, `select note_channel_failure('chn_' || $1, $2, 'timeout', 1, true, 5, 5400, 5400)`, [
          name,
          model,
        ]);
    }
    const tripped = async () => (await readOverview(built.deps)).alarms.filter(({ name }) => name === 'tripped');
    expect((await tripped()).map(({ message, count, subjects }) => [message, count, subjects])).toEqual([
      ['apart is tripped for 2 models (timeout)', 1, ['apart']],
      ['away-1 is tripped for 2 models (timeout), and 1 more at away.example', 2, ['away-1', 'away-2']],
    ]);
    // A silenced alarm stands alone, so that it hides none that is not.
    const silence = { name: 'tripped', subject: 'away-1', seconds: 600, reason: 'they know', actor: 'test' };
    await silenceAlarm(built.deps, silence);
    expect((await tripped()).map(({ subjects, silence: own }) => [subjects, own?.subject])).toEqual([
      [['apart'], undefined],
      [['away-1'], 'away-1'],
      [['away-2'], undefined],
    ]);
    await run(db, `delete from channel where name in ('away-1', 'away-2', 'apart')`);
  });

  it('what another alarm raises is part of that alarm, and stands apart when either is silenced', async () => {
    const { logger } = built.deps;
    await run(db, 'delete from alarm');
    for (const name of ['creates_refused', 'many_errors', 'temporal_away'] as const)
      logger.error(alarmOf(name), 'a test raises it');
    await run(
      db,
      `insert into channel (id, name, adapter, base_url, credential, groups) values ('chn_poor', 'poor', 'openai', 'https://poor.example', 'sealed', '{}')`,
    );
    await run(
      db,
      `select rest_channel('chn_poor', '*', 600, 'account'), raise_channel_alarm('chn_poor', '*', 'account')`,
    );
    const recent = `from alarm where last_at > clock_timestamp() - interval '1 minute'`;
    await eventually(async () => (await rowsOf(db, `select ${recent}`)).length === 3, { what: 'three alarms' });
    await run(db, `update alarm set last_at = last_at + interval '1 hour'`);
    const causes = async () =>
      (await readOverview(built.deps)).alarms
        .map(({ name, count, also }) => [name, count, ...also.map((raised) => `${raised.name} ${raised.subject}`)])
        .sort();
    expect(await causes()).toEqual([
      ['account', 2, 'cooling_down poor'],
      ['many_errors', 1],
      ['temporal_away', 2, 'creates_refused '],
    ]);
    const silence = { name: 'temporal_away', subject: '', seconds: 600, reason: 'they know', actor: 'test' };
    await silenceAlarm(built.deps, silence);
    expect(await causes()).toEqual([
      ['account', 2, 'cooling_down poor'],
      ['creates_refused', 1],
      ['many_errors', 1],
      ['temporal_away', 1],
    ]);
    await run(db, `delete from channel where name = 'poor'`);
    await run(db, 'delete from alarm');
  });

  it("a channel's alarm that a newer release has stored is shown by its name, that of a credential too", async () => {
    await run(
      db,
      `insert into channel (id, name, adapter, base_url, credential, groups) values ('chn_back', 'back', 'openai', 'https://back.example', 'sealed', '{}')`,
    );
    await run(db, `select raise_channel_alarm('chn_back', '*', 'of_the_channel')`);
    await run(
      db,
      `insert into channel_credential (id, channel_id, credential, last4, alarm, alarm_at)
       values ('crd_back', 'chn_back', 'sealed', '1234', 'of_the_credential', clock_timestamp())`,
    );
    const expected = [
      ['of_the_channel', 'back needs a look for all models (of the channel)'],
      ['of_the_credential', 'The credential …1234 of back has the alarm of_the_credential'],
    ];
    const back = (alarms: readonly { name: string; subject: string; message: string }[]) =>
      alarms.filter(({ subject }) => subject === 'back').map(({ name, message }) => [name, message]);
    expect(back((await readOverview(built.deps)).alarms)).toEqual(expected);
    expect(back(await listAlarms(built.deps))).toEqual(expected);
    await run(db, `delete from channel where name = 'back'`);
  });

  it('an event that was logged is shown for a quarter of an hour', async () => {
    built.deps.logger.error(alarmOf('ledger_broken'), 'an invariant of the ledger is broken');
    await untilShown('ledger_broken');
    await run(db, `update alarm set last_at = last_at - interval '14 minutes'`);
    expect(await shown()).toEqual(['ledger_broken']);
    await aMinuteLater();
    expect(await shown()).toEqual([]);
  });
});

/** A watch over readings that a test changes. `raised` are the alarms since the last call. */
function pretendProcess() {
  const reading = { all: 0, failed: 0, waiting: 0, delaySeconds: 0 };
  let raised: string[] = [];
  const logger = { error: ({ reason }: { reason: string }) => void raised.push(reason) };
  const turn = createProcessWatch(
    { logger: logger as unknown as Built['deps']['logger'] },
    {
      answers: () => ({ all: reading.all, failed: reading.failed }),
      waiting: () => reading.waiting,
      delaySeconds: () => reading.delaySeconds,
    },
  );
  return {
    reading,
    turn,
    raised() {
      const since = raised;
      raised = [];
      return since;
    },
  };
}
