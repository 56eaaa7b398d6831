import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Database } from '../../src/db/database.ts';
import { retryTransient } from '../../src/db/retry-transient.ts';
import { createTestDatabase } from '../support/database.ts';

let scratch: Awaited<ReturnType<typeof createTestDatabase>>;
let database: Database;
beforeAll(async () => {
  scratch = await createTestDatabase({ migrated: false });
  database = await scratch.open();
  await database.query('', 'create table written (n integer)');
});
afterAll(() => scratch?.drop());

describe('a transaction that fails', () => {
  it.each([
    ['a deadlock', '40P01'],
    ['a serialization failure', '40001'],
    ['a lock timeout', '55P03'],
  ])('with %s is retried at most three times, and the failed tries leave no row', async (_what, code) => {
    await database.query('', 'truncate written');
    expect(await retryTransient(failing(code, 3))).toBe(4);
    expect(await written()).toEqual([{ n: 4 }]);
    await expect(retryTransient(failing(code, 4))).rejects.toMatchObject({ code });
    expect(await written()).toEqual([{ n: 4 }]);
  });

  it('with any other error is not retried', async () => {
    let runs = 0;
    const work = () => {
      runs += 1;
      return failing('23505', 1)();
    };
    await expect(retryTransient(work)).rejects.toMatchObject({ code: '23505' });
    expect(runs).toBe(1);
  });
});

const written = () => database.query<{ n: number }>('', 'select n from written');

/** Each try writes its number. The first `times` tries fail; a later one returns its number. */
function failing(code: string, times: number): () => Promise<number> {
  let n = 0;
  return () =>
    database.transaction('begin', async (query) => {
      n += 1;
      await query('', 'insert into written values ($1)', [n]);
      if (n <= times) await query('', `do $$ begin raise exception 'as asked' using errcode = '${code}'; end $$`);
      return n;
    });
}
