import type { ChannelState } from '../../db/channels/channel-settings.ts';
import type { AlarmKind, AlarmName, Silence } from '../../domain/operators/alarm.ts';
import type { OverviewAlarm } from './overview-alarm.ts';

type ShownAlarm = OverviewAlarm<string> & { silence: Silence | null };

/** One line of the overview: the first alarm of a cause, which stands for all of them. */
export interface CauseAlarm extends ShownAlarm {
  /** How many alarms have the cause. */
  count: number;
  /** What those of the same kind are about, `subject` first. */
  subjects: string[];
  /** The alarms of other names that the cause raises. */
  also: (AlarmKind<string> & { message: string })[];
}

const stopped: readonly AlarmName[] = ['restored', 'temporal_away', 'worker_away', 'tasks_not_started'];
/** What raises alarms, by their names: while one of these fires for the same channel, or for the installation, it is the cause. */
const raisedBy: Readonly<Partial<Record<string, readonly string[]>>> = {
  cooling_down: ['account', 'forbidden', 'unknown_model'],
  worker_away: ['temporal_away'],
  task_not_started: ['temporal_away'],
  tasks_not_started: stopped.slice(0, 3),
  creates_refused: stopped,
  polls_late: stopped.slice(0, 3),
  late_callbacks: stopped.slice(0, 3),
  tasks_stale: ['restored', 'worker_away'],
  error_budget: ['database_unwritable', 'many_errors'],
  many_errors: ['database_unwritable'],
} satisfies Partial<Record<AlarmName, readonly AlarmName[]>>;

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
  const keyOf = (root: ShownAlarm): string => `${causeOf(root, hosts)} ${root.silence?.silenceId ?? ''}`;
  const groups = Map.groupBy(alarms, (alarm) => keyOf(rootOf(alarm)));
  return [...groups.values()].flatMap((all) => {
    const raised = all.filter((alarm) => rootOf(alarm) !== alarm);
    const [first, ...others] = all.filter((alarm) => !raised.includes(alarm));
    if (!first) return [];
    const since = all.flatMap((alarm) => alarm.since ?? []);
    const where = first.name === 'tripped' ? ` at ${hosts.get(first.subject) ?? ''}` : '';
    return {
      ...first,
      message: first.message + (others.length > 0 ? `, and ${others.length} more${where}` : ''),
      since: since.length > 0 ? Math.min(...since) : null,
      count: all.length,
      subjects: [...new Set([first, ...others].map(({ subject }) => subject))],
      also: raised.map(({ name, subject, message }) => ({ name, subject, message })),
    };
  });
}

/** A provider that is away trips all of its channels. An account, a list of models and a price are those of one channel. */
function causeOf({ kind, name, subject }: OverviewAlarm<string>, hosts: ReadonlyMap<string, string>): string {
  if (name === 'tripped') return `${name} ${hosts.get(subject) ?? subject}`;
  return kind === 'channel' || kind === 'job' ? `${name} ${subject}` : name;
}

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : url);
