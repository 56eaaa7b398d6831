/** A channel as the draw sees it. */
export interface Candidate {
  id: string;
  name: string;
  adapter: string;
  groups: readonly string[];
  priority: number;
  weight: number;
  enabled: boolean;
  /** Open or resting: model id (or `*`) → unix milliseconds until which it gets no traffic. */
  closedUntil: Readonly<Record<string, number>>;
}

export interface Wanted {
  modelId: string;
  /** The model's channel groups. */
  groups: readonly string[];
  /** Adapter families that the model is mapped to. */
  families: readonly string[];
  /** Channels that this request has had already. */
  tried: ReadonlySet<string>;
  nowMs: number;
}

export interface Draw<T extends Candidate> {
  /** In the order to try. */
  order: T[];
  /** When the first of the eligible but closed channels opens again, unix milliseconds; null when none is closed. */
  reopensAtMs: number | null;
}

/** The channels that could serve the model at all, whatever their health: enabled, in a group, of a mapped family, weighted. */
export const listServing = <T extends Candidate>(channels: readonly T[], wanted: Wanted): T[] =>
  channels.filter(
    (channel) =>
      channel.enabled &&
      channel.weight > 0 &&
      wanted.families.includes(channel.adapter) &&
      channel.groups.some((group) => wanted.groups.includes(group)) &&
      !wanted.tried.has(channel.id),
  );

/**
 * The order in which a request tries its channels: a lower priority number first, inside one priority a draw by weight
 * without replacement, weight 0 never. `random` gives numbers in [0, 1).
 */
export function drawOrder<T extends Candidate>(channels: readonly T[], wanted: Wanted, random: () => number): Draw<T> {
  const serving = listServing(channels, wanted);
  const open = serving.filter((channel) => closedUntilMs(channel, wanted.modelId) <= wanted.nowMs);
  const closed = serving.filter((channel) => closedUntilMs(channel, wanted.modelId) > wanted.nowMs);
  const priorities = [...new Set(open.map(({ priority }) => priority))].sort((a, b) => a - b);
  return {
    order: priorities.flatMap((priority) =>
      drawByWeight(
        open.filter((channel) => channel.priority === priority),
        random,
      ),
    ),
    reopensAtMs:
      closed.length === 0 ? null : Math.min(...closed.map((channel) => closedUntilMs(channel, wanted.modelId))),
  };
}

/** Of the channels that only their breaker keeps out, not a rest, the one whose time ends first. */
export function firstToReopen<T extends Candidate>(channels: readonly T[], wanted: Wanted): T | null {
  const opened = listServing(channels, wanted).filter((channel) => (channel.closedUntil['*'] ?? 0) <= wanted.nowMs);
  return opened.reduce<T | null>(
    (first, channel) =>
      first && closedUntilMs(first, wanted.modelId) <= closedUntilMs(channel, wanted.modelId) ? first : channel,
    null,
  );
}

/** Until when neither breaker nor rest lets a call of the model through, unix milliseconds; 0 when nothing closes it. */
export const closedUntilMs = (channel: Pick<Candidate, 'closedUntil'>, modelId: string): number =>
  Math.max(channel.closedUntil[modelId] ?? 0, channel.closedUntil['*'] ?? 0);

function drawByWeight<T extends Candidate>(channels: readonly T[], random: () => number): T[] {
  const left = [...channels];
  const drawn: T[] = [];
  while (left.length > 0) {
    let mark = random() * left.reduce((sum, { weight }) => sum + weight, 0);
    let index = left.findIndex(({ weight }) => (mark -= weight) < 0);
    // Rounding can leave the mark at the very end of the last weight.
    if (index < 0) index = left.length - 1;
    drawn.push(...left.splice(index, 1));
  }
  return drawn;
}
