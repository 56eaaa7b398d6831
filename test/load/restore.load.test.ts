import { describe, expect, it } from '@jest/globals';
import { drillRestore } from '../drills/restore.ts';

describe.each(['ahead', 'empty'] as const)(
  'a gateway that is restored under load, while Temporal is %s',
  (temporal) => {
    it('balances, sends no callback under a second id, buys no job twice and ends every task in flight', async () => {
      const rows = await drillRestore(temporal, () => undefined);
      expect(rows.filter(({ ok }) => !ok)).toEqual([]);
      expect(rows.map(({ part }) => part)).toEqual(['books', 'callbacks', 'jobs', 'tasks']);
    });
  },
);
