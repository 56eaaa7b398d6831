import type { Backlog } from '../../db/operators/backlog.ts';
import type { LastingAlarm } from '../../domain/operators/alarm.ts';
import type { OverviewAlarm } from './overview-alarm.ts';

type Condition = Pick<OverviewAlarm, 'name' | 'message' | 'remedy'> & Partial<OverviewAlarm>;

/**
 * What is wrong with the installation as a whole: its processes, PostgreSQL, Temporal, files, backups, and queues that do not move. Each
 * condition has an alert for Prometheus too, whose annotation `conditions` has its name.
 */
export const installationConditions = (backlog: Backlog): OverviewAlarm[] =>
  [
    ...(backlog.isRestored ? [restored] : []),
    ...backlog.lastingAlarms.map((name) => ({ name, ...lasting[name] })),
    ...workerAway(backlog),
    ...(Object.keys(ageLimits) as Age[]).flatMap((age) => tooOld(age, backlog[age])),
    ...backlog.losses.map(saleAtLoss),
    ...backlog.events.map(event),
  ].map((condition: Condition) => ({ kind: 'installation', subject: '', since: null, ...condition }));

/** Seconds after which an age is a condition, as in the rule of its alert. A backup a day, and half a day for a slow one. */
export const ageLimits = {
  backupAgeSeconds: 129_600,
  walNotArchivedSeconds: 600,
  undecidedTaskAge: 60,
  unstartedTaskAge: 60,
  staleTaskAge: 120,
  expiredChatAge: 300,
  duePollAge: 60,
} as const satisfies Partial<Record<keyof Backlog, number>>;
type Age = keyof typeof ageLimits;

const tooOld = (age: Age, seconds: number | null): Condition[] =>
  seconds !== null && seconds > ageLimits[age] ? [old[age](seconds)] : [];

const minutes = (seconds: number): string => `${Math.floor(seconds / 60)} minutes`;

const tasksNotStarted = (seconds: number): Condition => ({
  kind: 'temporal',
  name: 'tasks_not_started',
  message: `A task has waited for ${minutes(seconds)} to be started`,
  remedy: 'Check that Temporal answers and that workers run, and add workers. Tasks past their deadline are refunded.',
});

const old: Record<Age, (seconds: number) => Condition> = {
  backupAgeSeconds: (seconds) => ({
    name: 'backup_old',
    message: `The newest backup is ${Math.floor(seconds / 3_600)} hours old`,
    remedy: 'Check that the backups run and that there is space for them (docs/BACKUP.md).',
  }),
  walNotArchivedSeconds: () => ({
    name: 'wal_not_archived',
    message: 'PostgreSQL cannot archive its WAL',
    remedy:
      'Its disk fills up, and a restore would lose what came since. Read the log of PostgreSQL and the settings of the archive.',
  }),
  undecidedTaskAge: tasksNotStarted,
  unstartedTaskAge: tasksNotStarted,
  staleTaskAge: (seconds) => ({
    kind: 'temporal',
    name: 'tasks_stale',
    message: `A task has not ended ${minutes(seconds)} after its deadline`,
    remedy: 'Its credits stay on hold. Check that a worker runs, and run the job check-stale-media-tasks.',
  }),
  expiredChatAge: (seconds) => ({
    name: 'chats_not_refunded',
    message: `A hold of a chat expired ${minutes(seconds)} ago and is not refunded`,
    remedy: 'Check that a worker runs, and read its log for the loop `chat expiry`.',
  }),
  duePollAge: (seconds) => ({
    kind: 'temporal',
    name: 'polls_late',
    message: `A poll of a job is ${minutes(seconds)} late`,
    remedy: 'Results reach clients later. Add workers, and check how fast the providers answer polls.',
  }),
};

/** Two turns of the job may be missed. */
const workerAwaySecondsMax = 180;

/** A worker of a restored database runs no job. */
const workerAway = ({ workerAwaySeconds, isRestored }: Backlog): Condition[] =>
  workerAwaySeconds === null || workerAwaySeconds <= workerAwaySecondsMax || isRestored
    ? []
    : [
        {
          name: 'worker_away',
          message: `No worker has run a job for ${minutes(workerAwaySeconds)}`,
          remedy: 'Tasks and callbacks wait. Start a worker, or read the log of the one that runs.',
        },
      ];

const saleAtLoss = ({ model, channel }: Backlog['losses'][number]): Condition => ({
  kind: 'channel',
  name: 'sale_at_loss',
  subject: channel,
  message: `${model} costs more at ${channel} than it earns`,
  remedy: 'Change the price of the model, or the priorities of its channels (docs/RUNBOOK.md).',
});

const event = ({ name, subject, message, at }: Backlog['events'][number]): Condition => ({
  name,
  subject,
  message: message.charAt(0).toUpperCase() + message.slice(1),
  remedy: 'It was logged a short time ago. The log has its ids (docs/RUNBOOK.md, TollgateAlarm).',
  since: at,
});

const restored: Condition = {
  name: 'restored',
  message: 'The database is marked as restored',
  remedy:
    'Workers submit, poll and call back nothing. Run `tollgate restore check`, then `tollgate restore release` (docs/BACKUP.md).',
};

const lasting: Record<LastingAlarm, Omit<Condition, 'name'>> = {
  temporal_away: {
    kind: 'temporal',
    message: 'Temporal is away',
    remedy: 'Tasks are accepted and wait, chats work. Restore Temporal: the workers then start everything that waits.',
  },
  files_away: {
    message: 'The file store is away',
    remedy:
      'Uploads and results cannot be stored. Check the bucket and its key, or the disk of FILES_LOCAL_DIR. Results are copied when it is back.',
  },
  disk_full: {
    message: 'The disk of the file store is nearly full',
    remedy:
      'Uploads are refused below 1 GB, then new tasks. Enlarge the disk of FILES_LOCAL_DIR, or store files in a bucket.',
  },
  creates_refused: {
    message: 'New tasks are refused',
    remedy: 'Too many tasks wait to be started. Check that Temporal answers and that workers run, and add workers.',
  },
  database_unwritable: {
    message: 'PostgreSQL cannot be written',
    remedy: 'Its disk is full, or it is a standby. Requests are refused until it can be written again.',
  },
  many_errors: {
    message: 'Many requests are answered with 5xx',
    remedy: 'See the requests by outcome, then PostgreSQL and the channels (docs/RUNBOOK.md, TollgateManyErrors).',
  },
  error_budget: {
    message: 'More requests than the error budget allows were answered with 5xx',
    remedy: 'Look for a model with a single channel, and for a process that is short of slots or memory.',
  },
  pool_exhausted: {
    message: 'Statements wait for a connection to PostgreSQL',
    remedy: 'Look for slow statements and locks in PostgreSQL. If it is idle, raise DATABASE_POOL_MAX.',
  },
  event_loop_slow: {
    message: 'The event loop of a process is slow',
    remedy: 'Every request of the process waits. Add processes (API_PROCESSES, more workers) or cores.',
  },
};
