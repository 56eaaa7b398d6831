import type { ChannelState } from '../../db/channels/channel-settings.ts';
import type { AlarmKind, Silence } from '../../domain/operators/alarm.ts';
import type { OverviewAlarm } from './overview-alarm.ts';

type ShownAlarm = OverviewAlarm & { silence: Silence | null };

/** One line of the overview: the first alarm of a cause, which stands for all of them. */
export interface CauseAlarm extends ShownAlarm {
  /** How many alarms have the cause. */
  count: number;
  /** What those of the same kind are about, `subject` first. */
  subjects: string[];
  /** The alarms of other names that the cause raises. */
  also: (AlarmKind & { message: string })[];
}

const stopped = ['restored', 'temporal_away', 'worker_away'];
/** What raises an alarm, by its name: while one of these fires for the same channel, or for the installation, it is the cause. */
const raisedBy: Readonly<Record<string, readonly string[]>> = {
  cooling_down: ['account', 'forbidden', 'unknown_model'],
  worker_away: ['temporal_away'],
  task_not_started: ['temporal_away'],
  task_not_signaled: ['temporal_away'],
  tasks_not_started: stopped,
  creates_refused: [...stopped, 'tasks_not_started'],
  polls_late: stopped,
  late_callbacks: stopped,
  tasks_stale: ['restored', 'worker_away'],
  chats_not_refunded: ['worker_away'],
  error_budget: ['database_unwritable', 'many_errors'],
  many_errors: ['database_unwritable'],
};

/** The alarms of one cause as one, in the order of the first of each. One that is silenced hides no other. */
export function alarmsByCause(alarms: readonly ShownAlarm[], channels: readonly ChannelState[]): CauseAlarm[] {
  const hosts = new Map(channels.map(({ name, baseUrl }) => [name, hostOf(baseUrl)]));
  const rootOf = (alarm: ShownAlarm): ShownAlarm => {
    const root = alarms.find(
      ({ name, subject, silence }) =>
        raisedBy[alarm.name]?.includes(name) === true &&
        (alarm.kind !== 'channel' || subject === alarm.subject) &&
        silence?.silenceId === alarm.silence?.silenceId,
    );
    return root ? rootOf(root) : alarm;
  };
  const groups = Map.groupBy(alarms, (alarm) => {
    const root = rootOf(alarm);
    return `${causeOf(root, hosts)} ${root.silence?.silenceId ?? ''}`;
  });
  return [...groups.values()].flatMap((all) => {
    const [first, ...others] = all.filter((alarm) => rootOf(alarm) === alarm);
    if (!first) return [];
    const since = all.flatMap((alarm) => alarm.since ?? []);
    const where = first.name === 'tripped' ? ` at ${hosts.get(first.subject) ?? ''}` : '';
    return {
      ...first,
      message: first.message + (others.length > 0 ? `, and ${others.length} more${where}` : ''),
      since: since.length > 0 ? Math.min(...since) : null,
      count: all.length,
      subjects: [...new Set([first, ...others].map(({ subject }) => subject))],
      also: all
        .filter((alarm) => rootOf(alarm) !== alarm)
        .map(({ name, subject, message }) => ({ name, subject, message })),
    };
  });
}

/** A provider that is away trips all of its channels. An account, a list of models and a price are those of one channel. */
function causeOf({ kind, name, subject }: OverviewAlarm, hosts: ReadonlyMap<string, string>): string {
  if (name === 'tripped') return `${name} ${hosts.get(subject) ?? subject}`;
  return kind === 'channel' || kind === 'job' ? `${name} ${subject}` : name;
}

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : url);
