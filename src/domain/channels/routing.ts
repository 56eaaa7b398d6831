/** Channels that one task or chat tries. More would rarely help, and each attempt may be billed by its provider. */
export const ATTEMPTS_MAX = 3;

/** A channel as the draw sees it. */
export interface Candidate {
  id: string;
  name: string;
  adapter: string;
  groups: readonly string[];
  priority: number;
  weight: number;
  enabled: boolean;
  /** Tripped or cooling down: model id (or `*`) → unix milliseconds until which it gets no traffic. */
  unavailableUntil: Readonly<Record<string, number>>;
  /** Models that are not drawn here, because the provider does not have them. */
  notDrawn?: Readonly<Record<string, string>>;
}

export interface Wanted {
  modelId: string;
  /** The model's channel groups. */
  groups: readonly string[];
  /** Adapter families that the model is mapped to. */
  families: readonly string[];
  /** Channels that this request has had already. */
  attemptedIds: ReadonlySet<string>;
  nowMs: number;
}

export interface Draw<T extends Candidate> {
  /** In the order to try. */
  order: T[];
  /** When the first of the eligible but unavailable channels becomes available, unix milliseconds; null when all are available. */
  availableAtMs: number | null;
}

/** How often a worker probes the channels that could not be reached, and how soon a task that waits for one draws again. */
export const UNREACHABLE_PROBE_SECONDS = 2;

/** The channels that could serve the model at all, whatever their health: enabled, in a group, of a mapped family, weighted, and not without the model. */
export const listServing = <T extends Candidate>(channels: readonly T[], wanted: Wanted): T[] =>
  channels.filter(
    (channel) =>
      channel.enabled &&
      channel.weight > 0 &&
      channel.notDrawn?.[wanted.modelId] === undefined &&
      wanted.families.includes(channel.adapter) &&
      channel.groups.some((group) => wanted.groups.includes(group)) &&
      !wanted.attemptedIds.has(channel.id),
  );

/**
 * The order in which a request tries its channels: a lower priority number first, inside one priority a draw by weight
 * without replacement, weight 0 never. `random` gives numbers in [0, 1) for a channel: drawn anew for each call, or the same in every turn of
 * a conversation, which then has the same order.
 */
export function drawOrder<T extends Candidate>(
  channels: readonly T[],
  wanted: Wanted,
  random: (channel: T) => number,
): Draw<T> {
  const serving = listServing(channels, wanted);
  const available = serving.filter((channel) => unavailableUntilMs(channel, wanted.modelId) <= wanted.nowMs);
  const unavailable = serving.filter((channel) => unavailableUntilMs(channel, wanted.modelId) > wanted.nowMs);
  const priorities = [...new Set(available.map(({ priority }) => priority))].sort((a, b) => a - b);
  const withPriority = (priority: number) => available.filter((channel) => channel.priority === priority);
  const ends = unavailable.map((channel) => unavailableUntilMs(channel, wanted.modelId));
  return {
    order: priorities.flatMap((priority) => drawByWeight(withPriority(priority), random)),
    availableAtMs: ends.length === 0 ? null : Math.min(...ends),
  };
}

/**
 * The channels as a task that waits for one sees them. A channel that tripped because it could not be reached is probed every few
 * seconds, so it may be available long before its trip ends.
 */
export const soonIfUnreachable = <T extends Candidate & { unreachableModels: readonly string[] }>(
  channels: readonly T[],
  nowMs: number,
): T[] => {
  const soonMs = nowMs + UNREACHABLE_PROBE_SECONDS * 1_000;
  return channels.map((channel) => {
    const ends = Object.entries(channel.unavailableUntil).map(([model, untilMs]): [string, number] => [
      model,
      channel.unreachableModels.includes(model) ? Math.min(untilMs, soonMs) : untilMs,
    ]);
    return { ...channel, unavailableUntil: Object.fromEntries(ends) };
  });
};

/**
 * The channels as one task may draw them: a channel that was too busy for the task is unavailable until `retryAtMs` has it, unix
 * milliseconds by channel id.
 */
export const unavailableWhileBusy = <T extends Candidate>(
  channels: readonly T[],
  retryAtMs: ReadonlyMap<string, number>,
): T[] =>
  channels.map((channel) => {
    const busyUntil = retryAtMs.get(channel.id);
    if (busyUntil === undefined) return channel;
    const allModelsUntil = Math.max(channel.unavailableUntil['*'] ?? 0, busyUntil);
    return { ...channel, unavailableUntil: { ...channel.unavailableUntil, '*': allModelsUntil } };
  });

/** Of the channels that do not cool down, the one whose breaker recovers first. */
export function firstToRecover<T extends Candidate>(channels: readonly T[], wanted: Wanted): T | null {
  const tripped = listServing(channels, wanted).filter(
    (channel) => (channel.unavailableUntil['*'] ?? 0) <= wanted.nowMs,
  );
  const recoversAt = (channel: T) => unavailableUntilMs(channel, wanted.modelId);
  return tripped.sort((one, other) => recoversAt(one) - recoversAt(other))[0] ?? null;
}

/** Until when the breaker or a cool-down keeps calls of the model out, unix milliseconds; 0 when the channel is available. */
export const unavailableUntilMs = (channel: Pick<Candidate, 'unavailableUntil'>, modelId: string): number =>
  Math.max(channel.unavailableUntil[modelId] ?? 0, channel.unavailableUntil['*'] ?? 0);

/**
 * Sorts by exponential times with the weights as rates, which is the draw by weight without replacement (Efraimidis and Spirakis 2006).
 * With the numbers of a conversation it is weighted rendezvous hashing: a channel that comes or goes moves only its own conversations.
 */
const drawByWeight = <T extends Candidate>(channels: readonly T[], random: (channel: T) => number): T[] =>
  channels
    .map((channel) => ({ channel, time: -Math.log1p(-random(channel)) / channel.weight }))
    .sort((one, other) => one.time - other.time)
    .map(({ channel }) => channel);
