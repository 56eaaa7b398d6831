import { writeCheckpoint } from '../../db/ledger/checkpoints.ts';
import { dropDetailPartition, ensureDetailPartitions } from '../../db/detail-rows.ts';
import {
  claimExpiredFiles,
  eraseContents,
  forgetFiles,
  listDeletedFiles,
  purgeChannelCorroborations,
  purgeChatAttempts,
  purgeDeliveryAttempts,
  purgeIdempotency,
  purgeRejectedTasks,
  purgeTasks,
} from '../../db/scheduled-jobs/retention.ts';
import { purgeAlarms } from '../../db/operators/alarms.ts';
import { purgeHistory } from '../../db/channels/channel-history.ts';
import { purgeScheduledJobRuns } from '../../db/scheduled-jobs/scheduled-job-runs.ts';
import { endDueGrants } from '../../db/ledger/grants.ts';
import { listLowBalances } from '../../db/ledger/low-balance.ts';
import { listOpenDays, monthOf, rebuildDay, type RebuiltMonth } from '../../db/ledger/summaries.ts';
import { verifyLedger } from '../../db/ledger/verify-ledger.ts';
import type { Deps } from '../../deps.ts';
import { crashPoint } from '../../platform/crash-point.ts';
import { inLanes } from '../../platform/in-lanes.ts';
import { alarmOf } from '../../domain/operators/alarm.ts';
import { creditValueOf } from '../ledger/credit-value.ts';

/** Rows that retention deletes in one transaction, so that none of them holds its locks for long. */
const rowsPerTransaction = 5_000;

export type MaintenanceDeps = Pick<Deps, 'config' | 'db' | 'files' | 'logger'>;

/** What one run did, as its row stores it: counts of rows, without their content. */
class MaintenanceSummary {
  months: RebuiltMonth[] = [];
  /** The checkpoint that was written; null if there were no new entries or the ledger is broken. */
  checkpoint_id: number | null = null;
  /** Names of the broken invariants. */
  ledger_breaches: string[] = [];
  /** What left accounts because its end had come. */
  expired_credits = 0;
  /** Projects whose balance lasts for less than three days. */
  low_balances = 0;
  detail_partitions_made = 0;
  detail_partitions_dropped = 0;
  detail_rows_dropped = 0;
  tasks_erased = 0;
  callback_bodies_erased = 0;
  files_deleted = 0;
  /** Files whose bytes could not be deleted. The next run tries again. */
  files_failed = 0;
  idempotency_keys_deleted = 0;
  delivery_attempts_deleted = 0;
  rejected_tasks_deleted = 0;
  tasks_deleted = 0;
  chat_attempts_deleted = 0;
  channel_witnesses_deleted = 0;
  channel_history_deleted = 0;
  alarms_deleted = 0;
  job_runs_deleted = 0;
  /** Whether the signal ended the run early. The next run continues. */
  interrupted = false;
  /** Steps that failed. The others were done. */
  failed_steps: string[] = [];
  step_ms: Record<string, number> = {};
}

/** At least one step failed. `summary` has what the others did, and the next run tries again. */
export class MaintenanceError extends Error {
  override readonly name = 'MaintenanceError';
  readonly summary: MaintenanceSummary;

  constructor(summary: MaintenanceSummary, cause: unknown) {
    super(`maintenance failed in these steps: ${summary.failed_steps.join(', ')}`, { cause });
    this.summary = summary;
  }
}

/** A day is rebuilt for two whole days after its end. So a month is frozen on the 3rd of the next one. */
const freezeAfterDays = 2;
const daySeconds = 86_400;
/** Per kind of row and run. The next run continues. */
const batchesMax = 2_000;
const deleteLanes = 8;
const scheduledJobRunDays = 30;
/** Short, because a task that was never admitted held no credits and did no work. */
const rejectedTaskSeconds = daySeconds;
const deliveryAttemptDays = 30;
/** Until their month is frozen they are kept in any case. */
const chatAttemptDays = 30;
/** The circuit breaker reads the last minutes only. */
const corroborationSeconds = 3_600;
/** Charts show minutes of three hours, and hours of 30 days. */
const channelHistoryDays = { minuteDays: 2, hourDays: 31 };
/** Lists show the last week. */
const alarmDays = 30;

/**
 * Daily maintenance (rules "Jobs and retention"): creates the partitions of the next days, rebuilds the monthly summaries, verifies
 * the ledger, writes a checkpoint, and deletes expired data, `batchMax` rows per transaction. A run that is killed
 * anywhere and repeated has the same result. If steps fail, does the others and then throws `MaintenanceError`.
 */
export async function runMaintenance(
  deps: MaintenanceDeps,
  { signal, batchMax = rowsPerTransaction }: { signal?: AbortSignal; batchMax?: number } = {},
): Promise<MaintenanceSummary> {
  const { config, db, logger } = deps;
  const summary = new MaintenanceSummary();
  const limit = batchMax;
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
    // Before the warnings, which count what can be held.
    ['grants', async () => void (summary.expired_credits = (await endDueGrants(db)).expired_credits)],
    ['balances', () => warnOfLowBalances(deps, summary)],
    ['checkpoint', () => verifyAndCheckpoint(deps, summary)],
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
    ['files', () => deleteFiles(deps, summary, { limit, signal })],
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
    [
      'channel witnesses',
      cleared('channel_witnesses_deleted', () => purgeChannelCorroborations(db, corroborationSeconds, limit)),
    ],
    ['channel history', cleared('channel_history_deleted', () => purgeHistory(db, channelHistoryDays, limit))],
    ['alarms', cleared('alarms_deleted', () => purgeAlarms(db, alarmDays, limit))],
    ['job runs', cleared('job_runs_deleted', () => purgeScheduledJobRuns(db, scheduledJobRunDays, limit))],
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
      logger.error({ err: error, step: name, ...alarmOf('maintenance_step_failed') }, 'a step of maintenance failed');
    }
    summary.step_ms[name] = Math.round(performance.now() - startedAt);
  }
  summary.interrupted = signal?.aborted ?? false;
  if (summary.failed_steps.length > 0) throw new MaintenanceError(summary, cause);
  return summary;
}

/**
 * Rebuilds each open day in a transaction of its own. A failure leaves the rest of its month to the next run and does not stop the
 * later months. Throws the first error at the end.
 */
async function rebuildSummaries(
  { config, db, logger }: MaintenanceDeps,
  summary: MaintenanceSummary,
  signal?: AbortSignal,
): Promise<void> {
  const creditValueMicroUsd = await creditValueOf({ config, db });
  const { lagSeconds } = config.accounting;
  const errors = new Map<string, unknown>();
  const rebuilt = new Map<string, RebuiltMonth>();
  for (const day of await listOpenDays(db)) {
    if (signal?.aborted) break;
    const month = monthOf(day);
    if (errors.has(month)) continue;
    try {
      rebuilt.set(month, await rebuildDay(db, { day, creditValueMicroUsd, lagSeconds, freezeAfterDays }));
    } catch (error) {
      errors.set(month, error);
      logger.error({ err: error, month, ...alarmOf('summary_failed') }, 'the summary of a month could not be built');
    }
  }
  summary.months = [...rebuilt.values()];
  for (const error of errors.values()) throw error;
}

/** Logs an alarm for each project that has little left. The next run repeats it until credits are added. */
async function warnOfLowBalances({ db, logger }: MaintenanceDeps, summary: MaintenanceSummary): Promise<void> {
  const low = await listLowBalances(db);
  for (const { projectId, balance, week } of low) {
    const facts = { ...alarmOf('low_balance'), project_id: projectId, balance, charged_in_7_days: week };
    logger.warn(facts, 'the balance of a project lasts for less than three days');
  }
  summary.low_balances = low.length;
}

/** C5 reports expired holds that wait for the sweep, and C10 charges that are too low. The entries add up all the same. */
const leavesSumsRight: ReadonlySet<string> = new Set(['C5', 'C10']);

/** Verifies the ledger and then writes a checkpoint, because later checks trust the entries before a checkpoint. */
async function verifyAndCheckpoint(
  { config, db, logger }: MaintenanceDeps,
  summary: MaintenanceSummary,
): Promise<void> {
  const report = await verifyLedger(db, 2 * config.sweeps.intervalSeconds, { full: false });
  const broken = Object.entries(report.invariants).filter(([, { breaches }]) => breaches > 0);
  summary.ledger_breaches = broken.map(([name]) => name);
  for (const [name, { breaches, examples }] of broken) {
    logger.error(
      { ...alarmOf('ledger_broken'), invariant: name, breaches, examples },
      'an invariant of the ledger is broken',
    );
  }
  if (summary.ledger_breaches.some((name) => !leavesSumsRight.has(name))) return;
  summary.checkpoint_id = await writeCheckpoint(db, config.accounting.lagSeconds);
}

async function dropDetails(
  { config, db, logger }: MaintenanceDeps,
  summary: MaintenanceSummary,
  signal?: AbortSignal,
): Promise<void> {
  for (let day = 0; day < batchesMax && !signal?.aborted; day++) {
    const result = await dropDetailPartition(db, config.retention.detailDays);
    if (!result) return;
    summary.detail_partitions_dropped += 1;
    summary.detail_rows_dropped += result.detailRows;
    logger.info({ partition: result.dropped, rows: result.detailRows }, 'a day of API details was dropped');
  }
}

/**
 * Marks files, deletes their bytes, and then deletes their rows, so that after an interruption the rows still lead to the bytes.
 * Includes files that an earlier run has marked but not deleted.
 */
async function deleteFiles(
  { db, files, logger }: MaintenanceDeps,
  summary: MaintenanceSummary,
  { limit, signal }: { limit: number; signal: AbortSignal | undefined },
): Promise<void> {
  await inBatches(limit, signal, () => claimExpiredFiles(db, limit));
  let after = '';
  await inBatches(limit, signal, async () => {
    const batch = await listDeletedFiles(db, after, limit);
    after = batch.at(-1)?.id ?? after;
    const deleted: string[] = [];
    await inLanes(batch, deleteLanes, async ({ id, storageKey }) => {
      if (signal?.aborted) return;
      try {
        await files.delete(storageKey);
        crashPoint('mid_retention_delete');
        deleted.push(id);
      } catch (error) {
        summary.files_failed += 1;
        logger.warn({ err: error, file_id: id }, 'the bytes of a file could not be deleted');
      }
    });
    if (deleted.length > 0) await forgetFiles(db, deleted);
    summary.files_deleted += deleted.length;
    return batch.length;
  });
}

/** Runs batches until one is not full, the signal is aborted or `batchesMax` is reached. */
async function inBatches(limit: number, signal: AbortSignal | undefined, batch: () => Promise<number>): Promise<void> {
  for (let n = 0; n < batchesMax && !signal?.aborted; n++) {
    if ((await batch()) < limit) return;
  }
}

type CountName = {
  [K in keyof MaintenanceSummary]: MaintenanceSummary[K] extends number ? K : never;
}[keyof MaintenanceSummary];
