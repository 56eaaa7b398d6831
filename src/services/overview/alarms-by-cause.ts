import type { ChannelState } from '../../db/channels/channel-settings.ts';
import type { Silence } from '../../domain/operators/alarm.ts';
import type { OverviewAlarm } from './overview-alarm.ts';

type ShownAlarm = OverviewAlarm & { silence: Silence | null };

/** One line of the overview: the first alarm of a cause, which stands for all of them. */
export interface CauseAlarm extends ShownAlarm {
  /** How many alarms have the cause. */
  count: number;
  /** What they are about, `subject` first. */
  subjects: string[];
}

/** The alarms of one cause as one, in the order of the first of each. One that is silenced hides no other. */
export function alarmsByCause(alarms: readonly ShownAlarm[], channels: readonly ChannelState[]): CauseAlarm[] {
  const hosts = new Map(channels.map(({ name, baseUrl }) => [name, hostOf(baseUrl)]));
  const groups = Map.groupBy(alarms, (alarm) => `${causeOf(alarm, hosts)} ${alarm.silence?.silenceId ?? ''}`);
  return [...groups.values()].flatMap(([first, ...others]) => {
    if (!first) return [];
    const since = [first, ...others].flatMap((alarm) => alarm.since ?? []);
    const where = first.name === 'tripped' ? ` at ${hosts.get(first.subject) ?? ''}` : '';
    return {
      ...first,
      message: first.message + (others.length > 0 ? `, and ${others.length} more${where}` : ''),
      since: since.length > 0 ? Math.min(...since) : null,
      count: 1 + others.length,
      subjects: [...new Set([first, ...others].map(({ subject }) => subject))],
    };
  });
}

/** A provider that is away trips all of its channels. An account, a list of models and a price are those of one channel. */
function causeOf({ kind, name, subject }: OverviewAlarm, hosts: ReadonlyMap<string, string>): string {
  if (name === 'tripped') return `${name} ${hosts.get(subject) ?? subject}`;
  return kind === 'channel' || kind === 'job' ? `${name} ${subject}` : name;
}

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : url);
