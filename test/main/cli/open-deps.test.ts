import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { openLocally } from '../../../src/main/cli/open-deps.ts';
import { rowsOf } from '../../db/books.ts';
import { createTestHome, type TestHome } from '../../support/home.ts';

let home: TestHome;
beforeAll(async () => {
  home = await createTestHome();
});
afterAll(() => home?.drop());

it('lets a statement of a command wait while slow ones have all of its connections', async () => {
  const { open, close } = openLocally(home.settings);
  try {
    const { db } = await open('database');
    // Longer than a request of a client waits for a connection.
    const slow = () => rowsOf(db, 'select 1 as n from pg_sleep(3.5)');
    expect(await Promise.all([slow(), slow(), slow()])).toEqual([[{ n: 1 }], [{ n: 1 }], [{ n: 1 }]]);
  } finally {
    await close();
  }
});
