import type { AlarmKind, AlarmName } from '../../domain/operators/alarm.ts';

/**
 * Something that needs an operator. Its name and its subject are those of the log line with `alarm: true`, where there is one. The name of a channel's
 * alarm is stored, and a newer release may have written it.
 */
export interface OverviewAlarm<Name extends string = AlarmName> extends AlarmKind<Name> {
  kind: 'channel' | 'temporal' | 'installation' | 'unknown_outcome' | 'callbacks' | 'job';
  /** What is wrong, in a sentence without a full stop. */
  message: string;
  /** What to do, in sentences. */
  remedy: string;
  /** Unix seconds. */
  since: number | null;
}
