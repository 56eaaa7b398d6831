import type { Backlog } from '../../db/operators/overview.ts';
import type { LastingAlarm } from '../../domain/operators/alarm.ts';
import type { OverviewAlarm } from './overview-alarm.ts';

type Condition = Pick<OverviewAlarm, 'name' | 'message' | 'remedy'> & { kind?: 'temporal' };

/** What is wrong with the installation as a whole: PostgreSQL, Temporal, files, backups. Each condition has an alert for Prometheus too. */
export const installationConditions = ({
  lastingAlarms,
  backupAgeSeconds,
  walNotArchivedSeconds,
}: Backlog): OverviewAlarm[] =>
  [
    ...lastingAlarms.map((name) => ({ name, ...lasting[name] })),
    ...(backupAgeSeconds !== null && backupAgeSeconds > backupAgeMaxSeconds ? [oldBackup(backupAgeSeconds)] : []),
    ...(walNotArchivedSeconds > walNotArchivedMaxSeconds ? [walNotArchived] : []),
  ].map((condition: Condition) => ({ kind: 'installation', subject: '', since: null, ...condition }));

/** A backup a day, and half a day for a slow one. */
const backupAgeMaxSeconds = 129_600;
const walNotArchivedMaxSeconds = 600;

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
};

const oldBackup = (seconds: number): Condition => ({
  name: 'backup_old',
  message: `The newest backup is ${Math.floor(seconds / 3_600)} hours old`,
  remedy: 'Check that the backups run and that there is space for them (docs/BACKUP.md).',
});

const walNotArchived: Condition = {
  name: 'wal_not_archived',
  message: 'PostgreSQL cannot archive its WAL',
  remedy:
    'Its disk fills up, and a restore would lose what came since. Read the log of PostgreSQL and the settings of the archive.',
};
