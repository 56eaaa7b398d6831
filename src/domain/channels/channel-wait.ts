/** The least and the most time between two rounds over the channels, whatever they ask for. */
const roundMsMin = 1_000;
const roundMsMax = 60_000;

/** So that the channel's row says that it is available again when the task asks. */
const marginMs = 100;

/**
 * How long a task waits before it draws its channels again, in milliseconds: until the first becomes available, and at least an eighth of
 * the time that it has waited so far, between a second and a minute. So an hour of waiting is less than a hundred rounds.
 */
export const channelWaitMs = ({ availableInMs, waitedMs }: { availableInMs: number; waitedMs: number }): number =>
  Math.max(availableInMs + marginMs, Math.min(Math.max(waitedMs / 8, roundMsMin), roundMsMax));
