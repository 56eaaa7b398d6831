/** A restart takes this long; it needs no alarm. */
const patienceMs = 15_000;
const everyMs = 5_000;
/** The time limit for an answer; shorter than the interval. */
export const awayAnswerWithinMs = 4_000;

interface Watched {
  /** Never rejects. */
  isThere: () => Promise<boolean>;
  /** Raises the alarm, in every turn. */
  away: (seconds: number) => void;
  back: () => void;
  now?: (() => number) | undefined;
}

/** One turn of a loop that watches a server which may be away for longer than a restart takes. Returns the pause until the next turn. */
export function createAwayWatch({
  isThere,
  away,
  back,
  now = () => performance.now(),
}: Watched): () => Promise<number> {
  let awaySince: number | null = null;
  let isRaised = false;
  return async () => {
    if (await isThere()) {
      if (isRaised) back();
      [awaySince, isRaised] = [null, false];
      return everyMs;
    }
    awaySince ??= now();
    const awayMs = now() - awaySince;
    if (awayMs >= patienceMs) {
      isRaised = true;
      away(Math.round(awayMs / 1_000));
    }
    return everyMs;
  };
}
