/** Values by name. A name may end in a label: `alarms_total{reason="…"}`. */
export type Counters = Record<string, number>;

/** The counters of a process for its operators. */
export interface Metrics {
  creditsUndercharged(credits: number): void;
  /** Counts a chat whose settlement was never acknowledged. Its client received an error, and its charge is given back. */
  chatUndelivered(): void;
  /** Counts an event that needs an operator's attention. */
  alarm(reason: string): void;
  /** Counts API detail rows that were never written. */
  apiDetailsLost(rows: number): void;
  /** Counts polls of parked jobs; a poll is late if it starts more than a second after it is due. */
  pollsStarted(polls: { onTime: number; late: number }): void;
  /** All counters. */
  read(): Counters;
}

/** The counters of one process, starting at zero. `/metrics` shows them. */
export function createMetrics(): Metrics {
  const counters: Counters = {
    credits_undercharged_total: 0,
    chats_undelivered_total: 0,
    api_details_lost_total: 0,
    polls_total: 0,
    polls_late_total: 0,
  };
  return {
    creditsUndercharged(credits) {
      counters['credits_undercharged_total'] = (counters['credits_undercharged_total'] ?? 0) + credits;
    },
    chatUndelivered() {
      counters['chats_undelivered_total'] = (counters['chats_undelivered_total'] ?? 0) + 1;
    },
    alarm(reason) {
      const name = `alarms_total{reason="${labelValue(reason)}"}`;
      counters[name] = (counters[name] ?? 0) + 1;
    },
    apiDetailsLost(rows) {
      counters['api_details_lost_total'] = (counters['api_details_lost_total'] ?? 0) + rows;
    },
    pollsStarted({ onTime, late }) {
      counters['polls_total'] = (counters['polls_total'] ?? 0) + onTime + late;
      counters['polls_late_total'] = (counters['polls_late_total'] ?? 0) + late;
    },
    read: () => ({ ...counters }),
  };
}

/** Escapes a label value as Prometheus' text format requires. */
const labelValue = (text: string): string =>
  text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
