import { pause } from '../pause.ts';

/** A log line with `alarm: true`: something that an operator has to look at. Its facts are redacted. */
export interface Alarm {
  message: string;
  level: string;
  facts: Record<string, unknown>;
}

/** Alarms of one kind, as they are sent: the first at once, those that follow as one notice at the end of the period. */
export interface AlarmNotice extends Alarm {
  count: number;
  /** ISO 8601. */
  firstAt: string;
  lastAt: string;
}

/** Sends one notice; throws if it cannot. */
export type SendAlarm = (notice: AlarmNotice) => Promise<void>;

export interface Alarms {
  raise(alarm: Alarm): void;
  /** Resolves when everything raised so far is sent or given up, after two seconds at most. For a process that ends. */
  flush(): Promise<void>;
}

/** More kinds than the code has messages and an installation has channels; those beyond it share one group. */
const GROUPS_MAX = 500;
/** Before each further try. A process that ends does not wait for them. */
const retryMs = [1_000, 10_000, 60_000];
const flushMs = 2_000;

/**
 * Sends alarms in groups: each message, with its reason and its channel, at once and then at most once in `repeatMs`, with a count. Each
 * of the `ways` is tried again a few times; `onLost` is told when it still fails.
 */
export function createAlarms({
  repeatMs,
  ways,
  onLost,
}: {
  repeatMs: number;
  ways: readonly SendAlarm[];
  onLost: (error: unknown) => void;
}): Alarms {
  /** The groups whose period runs, with what came since its begin. */
  const groups = new Map<string, AlarmNotice | null>();
  const sending = new Set<Promise<void>>();

  const dispatch = (notice: AlarmNotice): void => {
    for (const send of ways) {
      const sent = sendPatiently(send, notice).finally(() => sending.delete(sent));
      sending.add(sent);
    }
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
  const beginPeriod = (kind: string): void => {
    groups.set(kind, null);
    setTimeout(() => {
      const notice = groups.get(kind);
      groups.delete(kind);
      if (!notice) return;
      dispatch(notice);
      beginPeriod(kind);
    }, repeatMs).unref();
  };

  return {
    raise(alarm) {
      const at = new Date().toISOString();
      const own = kindOf(alarm);
      const kind = groups.has(own) || groups.size < GROUPS_MAX ? own : 'others';
      const earlier = groups.get(kind);
      const notice = { ...alarm, count: (earlier?.count ?? 0) + 1, firstAt: earlier?.firstAt ?? at, lastAt: at };
      if (groups.has(kind)) {
        groups.set(kind, notice);
        return;
      }
      dispatch(notice);
      beginPeriod(kind);
    },
    async flush() {
      const done = new AbortController();
      await Promise.race([Promise.all(sending), pause(flushMs, done.signal)]);
      done.abort();
    },
  };
}

const kindOf = ({ message, facts }: Alarm): string =>
  JSON.stringify([message, facts['reason'], facts['channel'], facts['job'], facts['model']]);
