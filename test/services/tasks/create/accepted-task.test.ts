import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { acceptedTask } from '../../../../src/services/tasks/create/accepted-task.ts';
import type { Database } from '../../../../src/db/database.ts';
import { findTask } from '../../../../src/db/tasks/tasks.ts';
import { newTask, openBook, openLedger } from '../../../db/books.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';

let scratch: TestDatabase;
let db: Database;

beforeAll(async () => {
  scratch = await createTestDatabase();
  db = await scratch.open();
});
afterAll(() => scratch.drop());

describe('the answer to a create', () => {
  it.each([
    ['without a callback', null],
    ['with a callback', 'https://example.com/hook'],
  ])('%s is the task that a poll would read from the database', async (_how, callbackUrl) => {
    const ledger = openLedger(db);
    const task = newTask(await openBook(db, { credits: 10 }), 3, {
      callbackUrl,
      input: { prompt: 'a red fox', img_size: '1k', reference_images: ['file_1'], seed: 7, generate_audio: false },
    });
    const verdict = await ledger.createTask(task);
    expect(await ledger.reserveTask(task.taskId, false)).toMatchObject({ admitted: true });
    if (verdict.kind !== 'created') throw new Error(`the task was not created: ${verdict.kind}`);
    expect(acceptedTask(task, verdict.createdAt)).toEqual(await findTask(db, task.taskId));
  });
});
