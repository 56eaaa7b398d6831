import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Deps } from '../deps.ts';
import { alarmOf, type LastingAlarm } from '../domain/operators/alarm.ts';
import type { Answers } from '../platform/observe/metrics.ts';

/** What the watch reads of its process. */
interface ProcessReadings {
  answers(): Answers;
  /** Statements that wait for a connection. */
  waiting(): number;
  /** The 99th percentile of the delay of the event loop since the last call. */
  delaySeconds(): number;
}

const turnSeconds = 30;
const turnsIn = (minutes: number): number => (minutes * 60) / turnSeconds;

/** Shares of requests that are answered with 5xx, in a long window and still in a short one, in minutes, as in deploy/prometheus/alerts.yaml. */
const burnRates = [
  { name: 'many_errors', share: 0.1, long: 5, short: 1 },
  { name: 'many_errors', share: 0.072, long: 60, short: 5 },
  { name: 'many_errors', share: 0.03, long: 360, short: 30 },
  { name: 'error_budget', share: 0.015, long: 1_440, short: 120 },
] as const;
/** Fewer failed requests of one process say nothing. */
const failedMin = 10;
const delayMaxSeconds = 0.5;

/**
 * One turn of the watch over what only the process itself knows: its answers with 5xx, statements that wait for a connection, and the delay of its
 * event loop. It raises an alarm in every turn in which the alert of the same name would fire. Call it every `turnMs`.
 */
export function createProcessWatch({ logger }: Pick<Deps, 'logger'>, readings: ProcessReadings): () => void {
  const history: Answers[] = [readings.answers()];
  const turns = { waiting: 0, slow: 0 };
  const raise = (name: LastingAlarm, text: string): void => logger.error(alarmOf(name), text);
  const burns = ({ share, long, short }: (typeof burnRates)[number]): boolean =>
    [long, short].every((minutes) => failedShare(history, turnsIn(minutes)) > share);
  return () => {
    history.push(readings.answers());
    if (history.length > turnsIn(1_440) + 1) history.shift();
    for (const name of new Set(burnRates.filter(burns).map((rate) => rate.name))) {
      raise(name, 'more requests than the error budget allows are answered with 5xx');
    }
    turns.waiting = readings.waiting() > 0 ? turns.waiting + 1 : 0;
    if (turns.waiting > turnsIn(2)) raise('pool_exhausted', 'statements wait for a connection to PostgreSQL');
    turns.slow = readings.delaySeconds() > delayMaxSeconds ? turns.slow + 1 : 0;
    if (turns.slow > turnsIn(5)) raise('event_loop_slow', 'the event loop is slow');
  };
}

/** Of the last turns. 0 while too few have failed. */
function failedShare(history: readonly Answers[], turns: number): number {
  const now = history.at(-1);
  const then = history.at(-1 - turns) ?? history[0];
  if (!now || !then || now.failed - then.failed < failedMin) return 0;
  return (now.failed - then.failed) / (now.all - then.all);
}

/** Watches this process until the returned function is called. */
export function watchProcess(deps: Pick<Deps, 'logger' | 'metrics' | 'db'>): () => void {
  const delay = monitorEventLoopDelay({ resolution: 20 });
  delay.enable();
  const turn = createProcessWatch(deps, {
    answers: () => deps.metrics.answers(),
    waiting: () => deps.db.poolUse().waiting,
    delaySeconds() {
      const seconds = delay.percentile(99) / 1e9;
      delay.reset();
      return seconds;
    },
  });
  const timer = setInterval(turn, turnSeconds * 1_000).unref();
  return () => {
    clearInterval(timer);
    delay.disable();
  };
}
