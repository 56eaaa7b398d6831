import { LRUCache } from 'lru-cache';
import { getOrMake } from '../../platform/get-or-make.ts';
import { storedBytes } from '../../db/files/files.ts';
import type { Deps } from '../../deps.ts';
import { GatewayError } from '../../domain/errors.ts';
import { createCached } from '../../caches/cached.ts';
import { alarmOf } from '../../domain/operators/alarm.ts';

export interface StorageGuard {
  /**
   * Throws `storage_quota_exceeded` if the files of the project already take its quota, and `overloaded` while the disk is nearly
   * full. Call it before an upload is read and before a job is bought, because a result that was paid for is always stored.
   */
  assertCapacity(projectId: string, purpose: 'upload' | 'result'): Promise<void>;
}

/** Uploads stop first, because a task that has been bought needs the rest of the disk for its results. Before that an operator is told. */
export const freeMinBytes = { alarm: 3_000_000_000, upload: 1_000_000_000, result: 300_000_000 };
/** Raises the alarm of a disk that is nearly full. */
export const diskFull = (logger: Deps['logger'], freeBytes: number): void =>
  logger.error({ free_bytes: freeBytes, ...alarmOf('disk_full') }, 'the disk of the file store is nearly full');

/** The sum of a project with a million files takes a tenth of a second. */
const sumKeptMs = 10_000;
const freeKeptMs = 2_000;
const projectsKeptMax = 5_000;

/** Bounds what is stored. Approximate: sums are up to ten seconds old, and what runs already is not counted. */
export function createStorageGuard({
  config,
  db,
  files,
  logger,
}: Pick<Deps, 'config' | 'db' | 'logger'> & { files: Pick<Deps['files'], 'freeBytes'> }): StorageGuard {
  const { projectMaxBytes } = config.files;
  const sums = new LRUCache<string, ReturnType<typeof createCached<number>>>({ max: projectsKeptMax });
  const free = createCached(freeKeptMs, () => files.freeBytes());
  const sumOf = (projectId: string): Promise<number> =>
    getOrMake(sums, projectId, () => createCached(sumKeptMs, () => storedBytes(db, projectId))).get();
  return {
    async assertCapacity(projectId, purpose) {
      const freeBytes = await free.get();
      if (freeBytes < freeMinBytes[purpose]) {
        diskFull(logger, freeBytes);
        throw new GatewayError('overloaded', { retryAfterSeconds: 60 });
      }
      if (projectMaxBytes > 0 && (await sumOf(projectId)) >= projectMaxBytes) {
        throw new GatewayError('storage_quota_exceeded', {
          message: `The files of the project take ${projectMaxBytes} bytes, its quota. Files are deleted when they expire.`,
        });
      }
    },
  };
}
