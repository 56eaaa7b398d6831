import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Database } from '../../../src/db/database.ts';
import { purgeTasks } from '../../../src/db/scheduled-jobs/retention.ts';
import { insertResolution } from '../../../src/db/tasks/resolutions.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { admitted, newTask, openBook, openLedger, rowsOf, run, taskEnd, waitForLocks } from '../books.ts';

let scratch: TestDatabase;
let db: Database;
/** The connection pool of an operator's command. */
let operator: Database;

beforeAll(async () => {
  scratch = await createTestDatabase();
  db = await scratch.open();
  operator = await scratch.open();
});
afterAll(() => scratch.drop());

/** The id of a task that ended two days ago. */
async function endedTask(): Promise<string> {
  const ledger = openLedger(db);
  const { taskId } = await admitted(ledger, newTask(await openBook(db, { credits: 10 }), 1));
  await ledger.finishTask(taskEnd(taskId, 'failed'));
  await run(db, `update task set completed_at = completed_at - interval '2 days' where id = $1`, [taskId]);
  return taskId;
}

const resolutionOf = (taskId: string) => ({ taskId, outcome: 'bought', reference: 'r', actor: 'a' }) as const;

describe('the resolution of a task that is purged', () => {
  it('is not recorded, and no task is found, once the purge is done', async () => {
    const id = await endedTask();
    const begun = await db.transaction('begin', async (query) => {
      expect(await query('', 'select purge_tasks(86400, 10) as purged')).toEqual([{ purged: 1 }]);
      const resolving = insertResolution(operator, resolutionOf(id));
      await waitForLocks(operator, 'insert into task_resolution%');
      return { resolving };
    });
    expect(await begun.resolving).toBeNull();
    expect(await rowsOf(db, 'select id from task where id = $1', [id])).toEqual([]);
  });

  it('is deleted with the task if it was recorded before the purge', async () => {
    const id = await endedTask();
    expect(await insertResolution(operator, resolutionOf(id))).toMatchObject({ changed: true });
    expect(await purgeTasks(db, 86_400, 10)).toBe(1);
    expect(await rowsOf(db, 'select task_id from task_resolution where task_id = $1', [id])).toEqual([]);
  });
});
