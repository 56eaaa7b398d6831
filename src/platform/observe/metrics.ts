/** What the process counts for its operators. */
export interface Metrics {
  creditsUndercharged(credits: number): void;
  /** Something that an operator has to look at. */
  alarm(reason: string): void;
  /** API detail rows that were never written. */
  apiDetailsLost(rows: number): void;
  /** All counters by name; a name may end in a label, `alarms_total{reason="…"}`. */
  read(): Record<string, number>;
}

/** The counters of one process, from zero; `/metrics` shows them. */
export function createMetrics(): Metrics {
  const counters: Record<string, number> = { credits_undercharged_total: 0, api_details_lost_total: 0 };
  return {
    creditsUndercharged(credits) {
      counters['credits_undercharged_total'] = (counters['credits_undercharged_total'] ?? 0) + credits;
    },
    alarm(reason) {
      const name = `alarms_total{reason="${labelValue(reason)}"}`;
      counters[name] = (counters[name] ?? 0) + 1;
    },
    apiDetailsLost(rows) {
      counters['api_details_lost_total'] = (counters['api_details_lost_total'] ?? 0) + rows;
    },
    read: () => ({ ...counters }),
  };
}

/** As Prometheus' text format escapes what stands between the quotes of a label. */
const labelValue = (text: string): string =>
  text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
