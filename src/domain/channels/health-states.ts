/** The health of a model at one channel that is not drawn, or needs an operator (glossary in docs/ARCHITECTURE.md). */
export interface ChannelModelState {
  /** `*` for all models. */
  model: string;
  state: 'tripped' | 'cooling_down' | 'probing' | 'not_drawn' | 'alarm';
}

/** The health of a channel, as the draw knows it. Times are unix milliseconds. */
interface HealthForDraw {
  unavailableUntil: Record<string, number>;
  trippedModels: readonly string[];
  notDrawn: Record<string, string>;
  alarms: Record<string, string>;
}

/** The states of a channel's models; none for a model that is available. */
export function channelStates(channel: HealthForDraw, nowMs: number): ChannelModelState[] {
  const { unavailableUntil, trippedModels, notDrawn, alarms } = channel;
  const isOut = (model: string): boolean => (unavailableUntil[model] ?? 0) > nowMs;
  const cooling = Object.keys(unavailableUntil).filter((model) => isOut(model) && !trippedModels.includes(model));
  return [
    ...trippedModels.map((model) => ({ model, state: isOut(model) ? ('tripped' as const) : ('probing' as const) })),
    ...cooling.map((model) => ({ model, state: 'cooling_down' as const })),
    ...Object.keys(notDrawn).map((model) => ({ model, state: 'not_drawn' as const })),
    ...Object.keys(alarms).map((model) => ({ model, state: 'alarm' as const })),
  ];
}
