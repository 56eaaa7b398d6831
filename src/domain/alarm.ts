/** What an alarm is, in the two words by which it is counted, listed and silenced. */
export interface AlarmKind {
  /** Why it fired, such as `account` or `a job failed`. */
  name: string;
  /** The channel or the job that it is about. Empty for none. */
  subject: string;
}

/** An order of an operator not to be told of an alarm for a while. Without a subject it covers every alarm of its name. */
export interface Silence extends AlarmKind {
  silenceId: string;
  reason: string;
  createdBy: string;
  /** Unix seconds, as all times here. */
  createdAt: number;
  until: number;
}

/** Whether a silence of this name and subject covers an alarm. */
export const covers = (silence: AlarmKind, alarm: AlarmKind): boolean =>
  silence.name === alarm.name && (silence.subject === '' || silence.subject === alarm.subject);

/** The silence that covers an alarm for the longest; null if none does. */
export function silenceOf(silences: readonly Silence[], alarm: AlarmKind): Silence | null {
  const covering = silences.filter((one) => covers(one, alarm));
  return covering.reduce<Silence | null>(
    (longest, one) => (longest && longest.until >= one.until ? longest : one),
    null,
  );
}

/** The alarm of every worker while Temporal does not answer. The overview shows it while it was raised within `currentSeconds`. */
export const temporalAway = { name: 'temporal_away', currentSeconds: 60 } as const;
