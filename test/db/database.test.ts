import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Database } from '../../src/db/database.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

let scratch: TestDatabase;
let db: Database;

beforeAll(async () => {
  scratch = await createTestDatabase({ migrated: false });
  db = await scratch.open();
});
afterAll(() => scratch?.drop());

describe('a connection', () => {
  it('has limits of its own, and lets PostgreSQL compile no plan, which takes seconds for the functions of chats', async () => {
    const settings = `select current_setting('statement_timeout') as statement_timeout, current_setting('lock_timeout') as lock_timeout, current_setting('jit') as jit`;
    const own = await scratch.open({ isHasty: true, statementTimeoutMs: 10_000 });
    expect(await own.query('test-settings', settings)).toEqual([
      { statementTimeout: '10s', lockTimeout: '2s', jit: 'off' },
    ]);
  });
});

describe('a row', () => {
  const text = `select 1 as n, 2::bigint as credits_charged, null as sent_at, '{"task_id": {"is_kept": true}}'::jsonb as detail_json`;
  const row = { n: 1, creditsCharged: 2, sentAt: null, detailJson: { task_id: { is_kept: true } } };

  it('has column names in camelCase, and the content of a JSON column is unchanged', async () => {
    expect(await db.query('test-row', text)).toEqual([row]);
    expect(await db.query('test-row', text)).toEqual([row]);
  });

  it('has the same column names inside a transaction', async () => {
    expect(await db.transaction('begin', (query) => query('test-row', text))).toEqual([row]);
  });
});
