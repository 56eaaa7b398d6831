/** What an alarm is, in the two words by which it is counted, listed and silenced. */
export interface AlarmKind<Name extends string = AlarmName> {
  /** Why it fired, such as `account` or `job_failed`. */
  name: Name;
  /** The channel or the job that it is about. Empty for none. */
  subject: string;
}

/** An order of an operator not to be told of an alarm for a while. Without a subject it covers every alarm of its name. */
export interface Silence extends AlarmKind<string> {
  silenceId: string;
  reason: string;
  createdBy: string;
  /** Unix seconds, as all times here. */
  createdAt: number;
  until: number;
}

/**
 * The names of all alarms, each with its earlier names, under which it may still be silenced: in 0.2.0 an alarm was named by the text of its
 * log line.
 */
const earlierNames = {
  account: [],
  forbidden: [],
  unknown_model: [],
  unlisted: [],
  tripped: [],
  cooling_down: [],
  no_channel: [],
  worker_stopped: ['the worker stops because of an error'],
  temporal_worker_failed: ['a Temporal worker failed'],
  api_stopped: ['the API server stops because of an error'],
  detail_partitions_missing: ['the partitions of API details could not be created'],
  job_failed: ['a job failed'],
  maintenance_step_failed: ['a step of maintenance failed'],
  summary_failed: ['the summary of a month could not be built'],
  low_balance: ['the balance of a project lasts for less than three days'],
  ledger_broken: ['an invariant of the ledger is broken'],
  task_stuck: ['a stale task could not be ended'],
  task_not_signaled: ['the workflow of a parked job could not be signaled'],
  input_missing: ['an input file of a live task is missing'],
  task_not_started: ['the workflow of a task could not be started'],
  task_not_withdrawn: ['a task whose client received 503 could not be withdrawn'],
  credential_unreadable: ['the credential of a channel cannot be decrypted'],
  disk_full: ['the disk of the file store is nearly full'],
  settlement_lost: ['the settlement of a chat was not acknowledged and is not followed up'],
  callback_unreadable: ['the body of a callback could not be rendered'],
  callback_secret_unreadable: ['the callback secret of a project could not be decrypted'],
  callback_stuck: ['an overdue callback could not be handled'],
  outcome_unknown: ['task ended', 'unknown_outcome'],
  egress_open: [],
  crash_point_armed: ['CRASH_POINT: this process will kill itself. Development only.'],
  database_unwritable: ['request failed', 'request refused'],
  unknown_state: [],
  unreadable_answer: [],
  temporal_away: [],
  files_away: [],
  creates_refused: [],
  backup_old: [],
  wal_not_archived: [],
  late_callbacks: [],
  chats_undelivered: [],
  many_errors: [],
  error_budget: [],
  pool_exhausted: [],
  event_loop_slow: [],
  worker_away: [],
  restored: [],
  tasks_not_started: [],
  tasks_stale: [],
  chats_not_refunded: [],
  polls_late: [],
  sale_at_loss: [],
} as const satisfies Record<string, readonly string[]>;

export type AlarmName = keyof typeof earlierNames;
export const alarmNames: readonly string[] = Object.keys(earlierNames);
export const isAlarmName = (name: unknown): name is AlarmName =>
  typeof name === 'string' && Object.hasOwn(earlierNames, name);

/** What makes a log line an alarm of this name. The linter refuses a line that is marked without it. */
export const alarmOf = (reason: AlarmName) => ({ alarm: true, reason }) as const;

const namesOf = (name: string): readonly string[] => [
  name,
  ...(Object.entries(earlierNames).find(([key]) => key === name)?.[1] ?? []),
];

/** Whether a silence of this name and subject covers an alarm. */
export const covers = (silence: AlarmKind<string>, alarm: AlarmKind<string>): boolean =>
  namesOf(alarm.name).includes(silence.name) && (silence.subject === '' || silence.subject === alarm.subject);

/** The silence that covers an alarm for the longest; null if none does. */
export function silenceOf(silences: readonly Silence[], alarm: AlarmKind<string>): Silence | null {
  const covering = silences.filter((one) => covers(one, alarm));
  return covering.reduce<Silence | null>(
    (longest, one) => (longest && longest.until >= one.until ? longest : one),
    null,
  );
}

/** The alarms that are raised again and again while their condition lasts. The overview shows one that was raised within `lastingSeconds`. */
export const lastingAlarms = [
  'temporal_away',
  'files_away',
  'disk_full',
  'creates_refused',
  'database_unwritable',
  'many_errors',
  'error_budget',
  'pool_exhausted',
  'event_loop_slow',
] as const satisfies AlarmName[];
export const lastingSeconds = 60;

/** The alarms of something that has happened and whose state nothing can read. The overview shows one for `eventSeconds`, as long as its alert fires. */
export const eventAlarms = [
  'worker_stopped',
  'temporal_worker_failed',
  'api_stopped',
  'detail_partitions_missing',
  'maintenance_step_failed',
  'summary_failed',
  'low_balance',
  'ledger_broken',
  'task_stuck',
  'task_not_signaled',
  'input_missing',
  'task_not_started',
  'task_not_withdrawn',
  'credential_unreadable',
  'settlement_lost',
  'chats_undelivered',
  'callback_unreadable',
  'callback_secret_unreadable',
  'callback_stuck',
  'unknown_state',
  'unreadable_answer',
] as const satisfies AlarmName[];
export const eventSeconds = 900;

export type LastingAlarm = (typeof lastingAlarms)[number];
