import { Gauge, Registry } from 'prom-client';
import { createCached } from '../caches/cached.ts';
import type { ChannelRow } from '../db/channels/channels.ts';
import { readWorkInHand, type WorkInHand } from '../db/tasks/work-in-hand.ts';
import type { Deps } from '../deps.ts';
import { channelStates } from '../domain/channels/health-states.ts';
import { checkFileStore } from '../services/files/check-file-store.ts';
import { creditValueOf } from '../services/ledger/credit-value.ts';
import { within } from '../platform/pause.ts';

/** A scrape within this time reads nothing. */
const keptMs = 4_000;
/** Prometheus gives up after ten seconds, and the other metrics are needed most when the database is slow. */
const answerWithinMs = 1_000;

/**
 * What all processes share, from the database: holds, waiting work, deliveries and channels. Only API servers show it, and of the
 * processes of one only the one that answers, so that a sum of processes counts it once. If the database does not answer in time,
 * `tollgate_database_up` is 0 and the other gauges are missing, because old values would look healthy.
 */
export function createInstallationGauges({
  config,
  db,
  channels,
  workflows,
  files,
}: Pick<Deps, 'config' | 'db' | 'channels'> & {
  workflows: Pick<Deps['workflows'], 'isReachable'>;
  files: Pick<Deps['files'], 'freeBytes' | 'exists'>;
}) {
  const work = createCached(keptMs, () => readWorkInHand(db));
  const temporal = createCached(keptMs, () => workflows.isReachable(answerWithinMs));
  const disk = createCached(keptMs, () => checkFileStore(files, answerWithinMs));
  return {
    /** In Prometheus' text format. */
    async page(): Promise<string> {
      const read = Promise.all([work.get(), channels.list()]).catch(() => null);
      const worth = within(
        answerWithinMs,
        creditValueOf({ config, db }).catch(() => null),
      );
      const [readings, value, isTemporalUp, freeBytes] = await Promise.all([
        within(answerWithinMs, read),
        worth,
        temporal.get(),
        disk.get(),
      ]);
      const { registry, gauge } = createRegistry();
      gauge('database_up', 'Whether the database answered in time.').set(readings ? 1 : 0);
      gauge('temporal_up', 'Whether Temporal answered in time.').set(isTemporalUp ? 1 : 0);
      gauge('files_up', 'Whether the file store answered in time.').set(freeBytes === null ? 0 : 1);
      if (freeBytes !== null) gauge('files_free_bytes', 'Free on the disk of FILES_LOCAL_DIR.').set(freeBytes);
      if (value) gauge('credit_value_micro_usd', 'What one credit is worth.').set(value);
      if (readings) {
        const [inHand, { channels: rows, nowMs }] = readings;
        showWork(gauge, inHand);
        showChannels(gauge, rows, nowMs);
      }
      return registry.metrics();
    },
  };
}

type MakeGauge = ReturnType<typeof createRegistry>['gauge'];

/** A registry for one answer, so that a channel that is gone leaves no series behind. */
function createRegistry() {
  const registry = new Registry();
  const gauge = (name: string, help: string, ...labelNames: string[]): Gauge =>
    new Gauge({ name: `tollgate_${name}`, help, labelNames, registers: [registry] });
  return { registry, gauge };
}

function showWork(gauge: MakeGauge, work: WorkInHand): void {
  const holds = gauge('holds', 'Requests whose credits are held.', 'kind');
  holds.set({ kind: 'chat' }, work.chatHolds);
  holds.set({ kind: 'media' }, work.mediaHolds);
  const held = gauge('credits_held', 'Credits that are held.', 'kind');
  held.set({ kind: 'chat' }, work.chatCreditsHeld);
  held.set({ kind: 'media' }, work.mediaCreditsHeld);
  gauge('parked_jobs', 'Jobs at providers that are polled and hold no slot of a worker.').set(work.parkedJobs);
  gauge('deliveries_pending', 'Callbacks that are not delivered yet.').set(work.pendingDeliveries);
  const age = gauge('queue_age_seconds', 'How long the oldest entry has waited beyond its time.', 'queue');
  age.set({ queue: 'undecided_tasks' }, work.undecidedTaskAge);
  age.set({ queue: 'unstarted_tasks' }, work.unstartedTaskAge);
  age.set({ queue: 'stale_tasks' }, work.staleTaskAge);
  age.set({ queue: 'expired_chats' }, work.expiredChatAge);
  age.set({ queue: 'polls' }, work.duePollAge);
  age.set({ queue: 'deliveries' }, work.dueDeliveryAge);
  if (work.backupAgeSeconds !== null) {
    gauge('backup_age_seconds', 'Since the newest backup that was recorded.').set(work.backupAgeSeconds);
  }
  gauge('wal_not_archived_seconds', 'How long PostgreSQL has failed to archive its WAL.').set(
    work.walNotArchivedSeconds,
  );
  gauge('restored', 'Whether the database is marked as restored, so that workers wait for the release.').set(
    work.isRestored ? 1 : 0,
  );
}

function showChannels(gauge: MakeGauge, rows: readonly ChannelRow[], nowMs: number): void {
  const up = gauge('channel_up', 'Whether an enabled channel takes requests.', 'channel');
  const states = gauge(
    'channel_state',
    'The models with a state of their own; * for all.',
    'channel',
    'model',
    'state',
  );
  for (const row of rows) {
    const own = channelStates(row, nowMs);
    const isOut = own.some(({ model, state }) => model === '*' && state !== 'alarm');
    if (row.enabled) up.set({ channel: row.name }, isOut ? 0 : 1);
    for (const { model, state } of own) states.set({ channel: row.name, model, state }, 1);
  }
}
