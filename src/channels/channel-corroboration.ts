import { LRUCache } from 'lru-cache';
import { noteChannelUse, type ChannelUse } from '../db/channels/channels.ts';
import type { Database } from '../db/database.ts';

/** How long a project's failure speaks against a channel: as long as the circuit breaker's own window. */
const windowSeconds = 60;
/** A project that keeps using a channel is written down again after this time, so that calls rarely write. */
const useKeptSeconds = 20;
/** A last use in the last minute, which may have been written down up to `useKeptSeconds` before it happened. */
const usedSeconds = windowSeconds + useKeptSeconds;
/** How long the verdict on a project's failure holds for its next failures, so that a flood of them writes one row per second. */
const verdictKeptSeconds = 1;
/** Of the busiest process. An entry that is dropped is written once more. */
const usesMax = 50_000;

/** `failed`: it timed out, met a bare 403 or an unknown model. `neutral`: it says nothing about the channel. */
export type UseOutcome = 'ok' | 'failed' | 'neutral';

/** What the database knows of a project's use, by `performance.now()`. */
interface Written {
  at: number;
  /** When the project's last failure was judged, and whether it counts. Null after a success. */
  judged: { at: number; counts: Promise<boolean> } | null;
}

/**
 * Who used which channel and model, and whose last call there failed in a way that the request itself can cause. The rows are in
 * PostgreSQL, because a project may be the only one that this process sees on a channel, and not the only one that uses it.
 */
export class ChannelCorroboration {
  readonly #db: Database;
  readonly #written = new LRUCache<string, Written>({ max: usesMax });
  /** By channel and model: when a failure counted. One that counts confirms the others, so they are judged again. */
  readonly #confirmedAt = new Map<string, number>();

  constructor(db: Database) {
    this.#db = db;
  }

  /**
   * Notes a use. True for a failure that counts: another project's last call failed too, or no other project uses the channel for
   * this model. Rejects if the database does not answer.
   */
  async note(use: ChannelUse, outcome: UseOutcome): Promise<boolean> {
    const channelModel = `${use.channelId} ${use.modelId}`;
    const key = `${channelModel} ${use.projectId}`;
    const now = performance.now();
    const before = this.#written.get(key);
    if (before && !isChange(before, outcome, now, this.#confirmedAt.get(channelModel) ?? -Infinity))
      return outcome === 'failed' ? (before.judged?.counts ?? false) : false;
    const writing = noteChannelUse(this.#db, use, failedOf[outcome], { windowSeconds, usedSeconds });
    const earlierVerdict = outcome === 'neutral' ? (before?.judged ?? null) : null;
    this.#written.set(key, { at: now, judged: outcome === 'failed' ? { at: now, counts: writing } : earlierVerdict });
    try {
      const counts = await writing;
      if (counts) this.#confirmedAt.set(channelModel, performance.now());
      return counts;
    } catch (error) {
      this.#written.delete(key);
      throw error;
    }
  }
}

const failedOf = { ok: false, failed: true, neutral: null } as const;

/** Whether a use tells the database something that it does not know. */
function isChange({ at, judged }: Written, outcome: UseOutcome, now: number, confirmedAt: number): boolean {
  if (outcome === 'failed') return !judged || now - judged.at > verdictKeptSeconds * 1000 || judged.at <= confirmedAt;
  return now - at > useKeptSeconds * 1000 || (outcome === 'ok' && judged !== null);
}
