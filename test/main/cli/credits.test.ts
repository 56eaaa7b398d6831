import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Database } from '../../../src/db/database.ts';
import { findFunds } from '../../../src/db/ledger/funds.ts';
import { cli } from '../../../src/main/cli.ts';
import { rowsOf, run } from '../../db/books.ts';
import { commandLine } from '../../support/command-line.ts';
import { createTestHome, type TestHome } from '../../support/home.ts';
import { createOperator, type Operator } from '../../support/operator.ts';
import { lastAuditOf } from '../../support/rows.ts';

let home: TestHome;
let db: Database;
let operator: Operator;

beforeAll(async () => {
  home = await createTestHome();
  db = home.db;
  operator = createOperator(db, home.settings);
});
afterAll(() => home?.drop());

const { tollgate, done } = commandLine(() => home.settings);

/** Lets credits that were added with this reference end now. */
async function endGrants(projectId: string, reference: string): Promise<void> {
  await run(db, 'update credit_grant set ends_at = clock_timestamp() where project_id = $1 and reference = $2', [
    projectId,
    reference,
  ]);
  await run(
    db,
    `update credit_account a set grant_due_at = (select min(ends_at) from credit_grant g where g.project_id = a.project_id and g.last_interval is null)
     where project_id = $1`,
    [projectId],
  );
}

const tooLarge = String(Number.MAX_SAFE_INTEGER + 1);

describe('tollgate credits deduct', () => {
  it('deducts once per reference, says so, and is in the ledger and the audit log', async () => {
    const { projectId } = await operator.project({ credits: 100 });
    const deduct = (amount: string) =>
      tollgate(
        'credits',
        'deduct',
        '--project',
        projectId,
        '--amount',
        amount,
        '--reference',
        'cb-1',
        '--reason',
        'charged back',
      );
    const account = { project_id: projectId, balance: -20, reserved: 0 };
    expect(await deduct('120')).toEqual({ code: 0, printed: account });
    expect(await deduct('120')).toEqual({ code: 0, printed: account });
    expect(await deduct('121')).toMatchObject({ code: 1, printed: { error: { message: /another amount/ } } });
    const { data } = await done('ledger', 'list', '--project', projectId);
    expect(data).toMatchObject([
      { kind: 'deduct', credits: -120, balance_after: -20, reference: 'cb-1', reason: 'charged back' },
      { kind: 'topup' },
    ]);
    expect(await lastAuditOf(db, projectId)).toEqual([
      {
        action: 'credits.deduct',
        before: { balance: 100 },
        after: { balance: -20 },
        detail: { amount: 120, reference: 'cb-1', reason: 'charged back' },
      },
    ]);
    expect(await done('ledger', 'verify')).toMatchObject({ ok: true });
  });
});

describe('tollgate credits add --expires', () => {
  it('adds credits that end, which a job takes out of the account', async () => {
    const { projectId } = await operator.project({ credits: 100 });
    const add = (...expires: string[]) =>
      done('credits', 'add', '--project', projectId, '--amount', '50', '--reference', 'gift', '--expires', ...expires);
    expect(await add('1h')).toMatchObject({ balance: 150 });
    expect(await add('30d')).toMatchObject({ balance: 150 });
    expect((await lastAuditOf(db, projectId))[0]).toMatchObject({
      action: 'credits.add',
      detail: { amount: 50, reference: 'gift', expires_at: expect.any(String) },
    });
    await endGrants(projectId, 'gift');
    expect(await done('jobs', 'run', 'check-balances')).toMatchObject({ state: 'succeeded' });
    expect(await done('credits', 'show', '--project', projectId)).toMatchObject({ balance: 100 });
    expect((await done('ledger', 'list', '--project', projectId))['data']).toMatchObject([
      { kind: 'expiry', credits: -50, balance_after: 100, reference: 'gift', reason: null },
      { kind: 'topup', credits: 50 },
      { kind: 'topup' },
    ]);
    expect(await done('ledger', 'verify')).toMatchObject({ ok: true });
  });
});

describe('tollgate credits show', () => {
  it('lists the credits that expire, the first end first, without those that have ended', async () => {
    const { projectId, keyId } = await operator.project({ credits: 100 });
    const account = ['--project', projectId];
    expect(await done('credits', 'show', ...account)).toEqual({
      project_id: projectId,
      balance: 100,
      reserved: 0,
      expiring: [],
    });
    const add = (amount: string, expires: string) =>
      done('credits', 'add', ...account, '--amount', amount, '--reference', expires, '--expires', expires);
    await add('30', '2031-01-01');
    await add('20', '2030-01-01');
    expect(await add('7', '1h')).toMatchObject({ balance: 157 });
    const expiring = [
      { credits: 20, expires_at: Date.UTC(2030, 0, 1) / 1_000 },
      { credits: 30, expires_at: Date.UTC(2031, 0, 1) / 1_000 },
    ];
    await endGrants(projectId, '1h');
    expect(await done('credits', 'show', ...account)).toMatchObject({ balance: 150, expiring });
    expect(await findFunds(db, { projectId, keyId })).toEqual({ balance: 150, budgetLeft: null });
    let text = '';
    await cli(['credits', 'show', ...account], home.settings, (written) => (text += written));
    expect(text).toMatch(/^EXPIRING +EXPIRES_AT\n20 · \$0\.00002 +2030-01-01 00:00:00Z\n30 · \S+ +2031/m);
  });
});

describe('tollgate projects set', () => {
  it('sets an overdraft and ends it, and the audit log has both', async () => {
    const { projectId } = await operator.project();
    const set = (overdraft: string) => done('projects', 'set', projectId, '--overdraft', overdraft);
    expect(await set('500')).toMatchObject({ project_id: projectId, overdraft: 500 });
    expect(await lastAuditOf(db, projectId)).toEqual([
      { action: 'projects.set', before: { overdraft: 0 }, after: { overdraft: 500 }, detail: {} },
    ]);
    expect(await set('none')).toMatchObject({ overdraft: 0 });
    expect(await set('0')).toMatchObject({ overdraft: 0 });
  });
});

describe('bad input', () => {
  const amounts: [amount: string, why: string][] = [
    ['0', 'a whole number'],
    ['-5', ''],
    ['1.5', 'a whole number'],
    ['ten', 'a whole number'],
    [tooLarge, 'a whole number'],
  ];
  const reference = ['--reference', 'bad', '--reason', 'bad'];
  it.each([
    ...amounts.map(([amount, why]): [string[], string] => [
      ['credits', 'deduct', '--amount', amount, ...reference],
      why,
    ]),
    ...amounts.map(([amount, why]): [string[], string] => [
      ['credits', 'add', '--amount', amount, '--reference', 'bad'],
      why,
    ]),
    ...[
      ['2001-01-01', 'must be in the future'],
      ['0s', 'must be in the future'],
      ['2030-13-01', 'must be a time'],
      ['soon', 'must be a time'],
    ].map(([end = '', why = '']): [string[], string] => [
      ['credits', 'add', '--amount', '5', '--reference', 'bad', '--expires', end],
      why,
    ]),
    [['credits', 'deduct', '--amount', '5', '--reason', 'bad'], 'reference'],
    [['credits', 'deduct', '--amount', '5', '--reference', 'bad'], 'reason'],
    [['credits', 'deduct', '--amount', '5', '--reference', ' ', '--reason', 'bad'], 'must not be empty'],
    [['projects', 'set', '--overdraft', '-1'], ''],
    [['projects', 'set', '--overdraft', '1.5'], 'a whole number'],
    [['projects', 'set', '--overdraft', 'much'], 'a whole number'],
    [['projects', 'set', '--overdraft', tooLarge], 'a whole number'],
    [['projects', 'set'], 'Nothing to change'],
  ])('%j changes nothing and says why', async (args, why) => {
    const { projectId } = await operator.project({ credits: 100 });
    const [group = '', command = '', ...rest] = args;
    const before = await stateOf(projectId);
    const named = group === 'projects' ? [projectId, ...rest] : ['--project', projectId, ...rest];
    const { code, printed } = await tollgate(group, command, ...named);
    expect([1, 2]).toContain(code);
    expect(JSON.stringify(printed)).toContain(why);
    expect(await stateOf(projectId)).toEqual(before);
  });

  const stateOf = (projectId: string) =>
    rowsOf(
      db,
      `select a.*, (select count(*) from ledger_entry e where e.project_id = a.project_id) as entries,
         (select count(*) from audit_entry e where e.subject = a.project_id) as changes
       from credit_account a where a.project_id = $1`,
      [projectId],
    );
});
