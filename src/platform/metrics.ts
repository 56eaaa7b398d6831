/** What the process counts for its operators. */
export interface Metrics {
  creditsUndercharged(credits: number): void;
  /** All counters by name. */
  read(): Record<string, number>;
}

export function createMetrics(): Metrics {
  const counters: Record<string, number> = { credits_undercharged_total: 0 };
  return {
    creditsUndercharged(credits) {
      counters['credits_undercharged_total'] = (counters['credits_undercharged_total'] ?? 0) + credits;
    },
    read: () => ({ ...counters }),
  };
}
