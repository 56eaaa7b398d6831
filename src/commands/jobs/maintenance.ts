import { writeCheckpoint } from '../../db/checkpoints.ts';
import { dropDetailPartition, ensureDetailPartitions } from '../../db/detail-rows.ts';
import {
  claimExpiredFiles,
  eraseContents,
  forgetFiles,
  listDeletedFiles,
  purgeChatAttempts,
  purgeDeliveryAttempts,
  purgeIdempotency,
  purgeRejectedTasks,
  purgeTasks,
} from '../../db/retention.ts';
import { purgeJobRuns } from '../../db/jobs.ts';
import { listOpenMonths, rebuildMonth, type RebuiltMonth } from '../../db/summaries.ts';
import { verifyLedger } from '../../db/verify-ledger.ts';
import type { Deps } from '../../deps.ts';
import { crashPoint } from '../../platform/crash-point.ts';

export type MaintenanceDeps = Pick<Deps, 'config' | 'db' | 'files' | 'logger'>;

/** What one run did, as its row keeps it: counts of rows, none of their content. */
export interface MaintenanceSummary {
  months: RebuiltMonth[];
  /** The checkpoint that was written; null when nothing was new, or when the books are wrong. */
  checkpoint_id: number | null;
  /** Names of the broken invariants: nothing is built upon books that are wrong. */
  ledger_breaches: string[];
  detail_partitions_made: number;
  detail_partitions_dropped: number;
  detail_rows_dropped: number;
  tasks_erased: number;
  callback_bodies_erased: number;
  files_deleted: number;
  /** Their bytes could not be deleted; the next run tries again. */
  files_failed: number;
  idempotency_keys_deleted: number;
  delivery_attempts_deleted: number;
  rejected_tasks_deleted: number;
  tasks_deleted: number;
  chat_attempts_deleted: number;
  job_runs_deleted: number;
  /** Ended early because it was asked to; the next run goes on. */
  interrupted: boolean;
  /** Steps that failed; the others were done. */
  failed_steps: string[];
  /** How long each step took. */
  step_ms: Record<string, number>;
}

/** At least one step failed. What the others did is in `summary`; the next run does the rest. */
export class MaintenanceError extends Error {
  override readonly name = 'MaintenanceError';
  readonly summary: MaintenanceSummary;

  constructor(summary: MaintenanceSummary, cause: unknown) {
    super(`maintenance failed in: ${summary.failed_steps.join(', ')}`, { cause });
    this.summary = summary;
  }
}

/** The last rebuild is that of the 3rd: two whole days after the month. */
const freezeAfterDays = 2;
const daySeconds = 86_400;
/** Per kind of row and run; what is beyond waits for the next run. */
const batchesMax = 2_000;
const deleteLanes = 8;
const jobRunDays = 30;
/** Short, because a task that was never admitted held no credits and did no work. */
const rejectedTaskSeconds = daySeconds;
const deliveryAttemptDays = 30;
/** Until their month is frozen they are kept in any case. */
const chatAttemptDays = 30;

/**
 * Daily upkeep (rules "Jobs and retention"): makes the days' partitions, rebuilds the monthly summaries, proves the books
 * and writes a checkpoint, then deletes what is past its time by the database's clock, `MAINTENANCE_BATCH_MAX` rows per
 * transaction. May be killed anywhere and run again: the end is the same. Throws `MaintenanceError` after doing what it could.
 */
export async function runMaintenance(
  deps: MaintenanceDeps,
  { signal }: { signal?: AbortSignal } = {},
): Promise<MaintenanceSummary> {
  const { config, db, logger } = deps;
  const summary = emptySummary();
  const limit = config.retention.batchMax;
  const cleared =
    (name: CountName, batch: () => Promise<number>): (() => Promise<void>) =>
    () =>
      inBatches(limit, signal, async () => {
        const rows = await batch();
        summary[name] += rows;
        return rows;
      });

  const steps: [name: string, work: () => Promise<void>][] = [
    ['partitions', async () => void (summary.detail_partitions_made = await ensureDetailPartitions(db))],
    ['summaries', () => rebuildSummaries(deps, summary, signal)],
    ['checkpoint', () => proveBooks(deps, summary)],
    ['details', () => dropDetails(deps, summary, signal)],
    [
      'contents',
      () =>
        inBatches(limit, signal, async () => {
          const { tasks, bodies } = await eraseContents(db, limit);
          summary.tasks_erased += tasks;
          summary.callback_bodies_erased += bodies;
          return tasks;
        }),
    ],
    ['files', () => deleteFiles(deps, summary, signal)],
    ['idempotency', cleared('idempotency_keys_deleted', () => purgeIdempotency(db, limit))],
    [
      'delivery attempts',
      cleared('delivery_attempts_deleted', () => purgeDeliveryAttempts(db, deliveryAttemptDays * daySeconds, limit)),
    ],
    ['rejected tasks', cleared('rejected_tasks_deleted', () => purgeRejectedTasks(db, rejectedTaskSeconds, limit))],
    ['tasks', cleared('tasks_deleted', () => purgeTasks(db, config.retention.taskDays * daySeconds, limit))],
    [
      'chat attempts',
      cleared('chat_attempts_deleted', () => purgeChatAttempts(db, chatAttemptDays * daySeconds, limit)),
    ],
    ['job runs', cleared('job_runs_deleted', () => purgeJobRuns(db, jobRunDays, limit))],
  ];

  let cause: unknown;
  for (const [name, work] of steps) {
    if (signal?.aborted) break;
    const startedAt = performance.now();
    try {
      await work();
    } catch (error) {
      cause ??= error;
      summary.failed_steps.push(name);
      logger.error({ err: error, step: name, alarm: true }, 'a step of maintenance failed');
    }
    summary.step_ms[name] = Math.round(performance.now() - startedAt);
  }
  summary.interrupted = signal?.aborted ?? false;
  if (summary.failed_steps.length > 0) throw new MaintenanceError(summary, cause);
  return summary;
}

/** Each month by itself: the ones after one that cannot be built are no worse for it. Throws when all were tried. */
async function rebuildSummaries(
  { config, db, logger }: MaintenanceDeps,
  summary: MaintenanceSummary,
  signal?: AbortSignal,
): Promise<void> {
  const errors: unknown[] = [];
  for (const month of await listOpenMonths(db)) {
    if (signal?.aborted) break;
    try {
      const rebuilt = await rebuildMonth(db, {
        month,
        creditValueMicroUsd: config.accounting.creditValueMicroUsd,
        lagSeconds: config.accounting.lagSeconds,
        freezeAfterDays,
      });
      summary.months.push(rebuilt);
    } catch (error) {
      errors.push(error);
      logger.error({ err: error, month, alarm: true }, "a month's summary could not be built");
    }
  }
  if (errors.length > 0) throw errors[0];
}

/** A checkpoint is a promise about everything before it, so it stands only on books that were just proved. */
async function proveBooks({ config, db, logger }: MaintenanceDeps, summary: MaintenanceSummary): Promise<void> {
  const report = await verifyLedger(db, 2 * config.sweeps.intervalSeconds, { full: false });
  const broken = Object.entries(report.invariants).filter(([, { breaches }]) => breaches > 0);
  summary.ledger_breaches = broken.map(([name]) => name);
  for (const [name, { breaches, examples }] of broken) {
    logger.error({ alarm: true, invariant: name, breaches, examples }, 'the books are not right');
  }
  // A hold that waits for its sweep is late, not wrong.
  if (summary.ledger_breaches.some((name) => name !== 'C5')) return;
  summary.checkpoint_id = await writeCheckpoint(db, config.accounting.lagSeconds);
}

async function dropDetails(
  { config, db, logger }: MaintenanceDeps,
  summary: MaintenanceSummary,
  signal?: AbortSignal,
): Promise<void> {
  for (let day = 0; day < batchesMax && !signal?.aborted; day++) {
    const gone = await dropDetailPartition(db, config.retention.detailDays);
    if (!gone) return;
    summary.detail_partitions_dropped += 1;
    summary.detail_rows_dropped += gone.rows;
    logger.info({ partition: gone.dropped, rows: gone.rows }, 'a day of API details was dropped');
  }
}

/**
 * Marks, then deletes the bytes, then forgets the row: whatever is interrupted in between, the row still leads to the bytes.
 * Files of an earlier run that were marked and not forgotten come along.
 */
async function deleteFiles(
  { config, db, files, logger }: MaintenanceDeps,
  summary: MaintenanceSummary,
  signal?: AbortSignal,
): Promise<void> {
  const limit = config.retention.batchMax;
  await inBatches(limit, signal, () => claimExpiredFiles(db, limit));
  let after = '';
  await inBatches(limit, signal, async () => {
    const batch = await listDeletedFiles(db, after, limit);
    after = batch.at(-1)?.id ?? after;
    const gone: string[] = [];
    const queue = [...batch];
    const lane = async (): Promise<void> => {
      for (let file = queue.shift(); file && !signal?.aborted; file = queue.shift()) {
        try {
          await files.delete(file.storageKey);
          crashPoint('mid_retention_delete');
          gone.push(file.id);
        } catch (error) {
          summary.files_failed += 1;
          logger.warn({ err: error, file_id: file.id }, "a file's bytes could not be deleted");
        }
      }
    };
    await Promise.all(Array.from({ length: deleteLanes }, lane));
    if (gone.length > 0) await forgetFiles(db, gone);
    summary.files_deleted += gone.length;
    return batch.length;
  });
}

/** Batch after batch until one is not full, the signal fires or `batchesMax` is reached. */
async function inBatches(limit: number, signal: AbortSignal | undefined, batch: () => Promise<number>): Promise<void> {
  for (let n = 0; n < batchesMax && !signal?.aborted; n++) {
    if ((await batch()) < limit) return;
  }
}

type CountName = {
  [K in keyof MaintenanceSummary]: MaintenanceSummary[K] extends number ? K : never;
}[keyof MaintenanceSummary];

const emptySummary = (): MaintenanceSummary => ({
  months: [],
  checkpoint_id: null,
  ledger_breaches: [],
  detail_partitions_made: 0,
  detail_partitions_dropped: 0,
  detail_rows_dropped: 0,
  tasks_erased: 0,
  callback_bodies_erased: 0,
  files_deleted: 0,
  files_failed: 0,
  idempotency_keys_deleted: 0,
  delivery_attempts_deleted: 0,
  rejected_tasks_deleted: 0,
  tasks_deleted: 0,
  chat_attempts_deleted: 0,
  job_runs_deleted: 0,
  interrupted: false,
  failed_steps: [],
  step_ms: {},
});
