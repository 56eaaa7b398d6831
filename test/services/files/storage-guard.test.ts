import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createStorageGuard } from '../../../src/services/files/storage-guard.ts';
import { testConfig } from '../../support/test-config.ts';
import type { Database } from '../../../src/db/database.ts';
import { recordFile } from '../../../src/db/files/files.ts';
import { createLogger } from '../../../src/platform/observe/logger.ts';
import { newId, openBook } from '../../db/books.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { quickSettings } from '../../support/gateway-settings.ts';

let books: TestDatabase;
let db: Database;
beforeAll(async () => {
  books = await createTestDatabase();
  db = await books.open();
});
afterAll(() => books?.drop());

const config = testConfig({
  ...quickSettings,
  DATABASE_URL: 'postgresql://127.0.0.1/none',
  EGRESS_ALLOW_CIDRS: '',
  PROJECT_STORAGE_MAX_BYTES: '1000',
});
const guardWith = (freeBytes: number) =>
  createStorageGuard({
    config,
    db,
    files: { freeBytes: () => Promise.resolve(freeBytes) },
    logger: createLogger('silent', 'test'),
  });
const plenty = 1e12;

describe('what is stored', () => {
  it('is bounded for each project by the bytes of its files', async () => {
    const [full, other] = [await openBook(db), await openBook(db)];
    await store(full.projectId, 600);
    await expect(guardWith(plenty).assertCapacity(full.projectId, 'upload')).resolves.toBeUndefined();
    await store(full.projectId, 600);
    const guard = guardWith(plenty);
    for (const purpose of ['upload', 'result'] as const) {
      await expect(guard.assertCapacity(full.projectId, purpose)).rejects.toMatchObject({
        code: 'storage_quota_exceeded',
      });
      await expect(guard.assertCapacity(other.projectId, purpose)).resolves.toBeUndefined();
    }
    await db.query('', 'update file set deleted_at = clock_timestamp() where project_id = $1', [full.projectId]);
    await expect(guardWith(plenty).assertCapacity(full.projectId, 'upload')).resolves.toBeUndefined();
  });

  it('leaves the last of the disk to results: uploads are refused before tasks', async () => {
    const { projectId } = await openBook(db);
    const overloaded = { code: 'overloaded' };
    const [low, empty] = [guardWith(900_000_000), guardWith(200_000_000)];
    await expect(low.assertCapacity(projectId, 'upload')).rejects.toMatchObject(overloaded);
    await expect(low.assertCapacity(projectId, 'result')).resolves.toBeUndefined();
    await expect(empty.assertCapacity(projectId, 'result')).rejects.toMatchObject(overloaded);
  });
});

const store = (projectId: string, bytes: number) => {
  const id = newId('file');
  return recordFile(db, {
    id,
    projectId,
    taskId: null,
    purpose: 'upload',
    storageKey: `uploads/${id}`,
    mimeType: 'image/png',
    bytes,
    sha256: '',
    width: null,
    height: null,
    duration: null,
    keptSeconds: 3_600,
  });
};
