import type { AlarmKind } from '../../domain/operators/alarm.ts';
import { pause } from '../pause.ts';

/** A log line with `alarm: true`: something that an operator has to look at. Its facts are redacted. */
export interface LoggedAlarm {
  message: string;
  level: string;
  facts: { reason: string; [name: string]: unknown };
}

/** The name of an alarm is its reason. */
export const alarmKind = ({ facts }: LoggedAlarm): AlarmKind<string> => ({
  name: facts.reason,
  subject: textOf(facts['channel']) ?? textOf(facts['job']) ?? '',
});

const textOf = (fact: unknown): string | undefined => (typeof fact === 'string' ? fact : undefined);

/** Alarms of one kind, as they are sent: the first immediately, those that follow as one notice at the end of the period. */
export interface AlarmNotice extends LoggedAlarm {
  count: number;
  /** ISO 8601. */
  firstAt: string;
  lastAt: string;
}

/** Sends one notice; throws if it cannot. */
export type SendAlarm = (notice: AlarmNotice) => Promise<void>;

export interface Alarms {
  raise(alarm: LoggedAlarm): void;
  /** Resolves when everything raised so far is sent or given up. The caller bounds the wait. */
  flush(): Promise<void>;
}

/** More kinds than the code has names and an installation has channels; those beyond it share one group. */
const GROUPS_MAX = 500;
/** Before each further try. A process that ends does not wait for them. */
const retryMs = [1_000, 10_000, 60_000];

interface AlarmGroup {
  /** Ends the period of the group. */
  timer: NodeJS.Timeout;
  /** What came since the period began. */
  waiting: AlarmNotice | null;
}

/**
 * Sends alarms in groups: each name, with its channel, immediately and then at most once in `repeatMs`, with a count. Each of the `ways`
 * is tried again a few times; `onLost` is told when it still fails. An alarm for which `isSilenced` resolves to true is not sent, and is
 * not counted in a later notice.
 */
export function createAlarms({
  repeatMs,
  ways,
  isSilenced,
  onLost,
}: {
  repeatMs: number;
  ways: readonly SendAlarm[];
  /** Never rejects. */
  isSilenced: (alarm: AlarmKind<string>) => Promise<boolean>;
  onLost: (error: unknown) => void;
}): Alarms {
  /** The groups whose period runs. */
  const groups = new Map<string, AlarmGroup>();
  const sending = new Set<Promise<void>>();

  const dispatch = (key: string, notice: AlarmNotice): void => {
    const group = beginPeriod(key);
    const sent = sendUnlessSilenced(key, group, notice).finally(() => sending.delete(sent));
    sending.add(sent);
  };
  const sendUnlessSilenced = async (key: string, group: AlarmGroup, notice: AlarmNotice): Promise<void> => {
    if (await isSilenced(alarmKind(notice))) {
      // The first alarm after the silence is sent immediately.
      clearTimeout(group.timer);
      if (groups.get(key) === group) groups.delete(key);
      return;
    }
    await Promise.all(ways.map((send) => sendPatiently(send, notice)));
  };
  const sendPatiently = async (send: SendAlarm, notice: AlarmNotice): Promise<void> => {
    for (const waitMs of [0, ...retryMs]) {
      await pause(waitMs);
      const failed = await send(notice).then(
        () => null,
        (error: unknown) => ({ error }),
      );
      if (!failed) return;
      if (waitMs === retryMs.at(-1)) onLost(failed.error);
    }
  };
  const beginPeriod = (key: string): AlarmGroup => {
    const timer = setTimeout(() => {
      const { waiting } = group;
      groups.delete(key);
      if (waiting) dispatch(key, waiting);
    }, repeatMs).unref();
    const group: AlarmGroup = { timer, waiting: null };
    groups.set(key, group);
    return group;
  };

  return {
    raise(alarm) {
      const at = new Date().toISOString();
      const own = groupOf(alarm);
      const key = groups.has(own) || groups.size < GROUPS_MAX ? own : 'others';
      const group = groups.get(key);
      const earlier = group?.waiting;
      const notice = { ...alarm, count: (earlier?.count ?? 0) + 1, firstAt: earlier?.firstAt ?? at, lastAt: at };
      if (group) group.waiting = notice;
      else dispatch(key, notice);
    },
    async flush() {
      await Promise.all(sending);
    },
  };
}

const groupOf = ({ facts }: LoggedAlarm): string =>
  JSON.stringify([facts.reason, facts.channel, facts.job, facts.model]);
