import type { Database } from '../database.ts';
import { RateBatches, type RateBatch } from './rate-batches.ts';
import { GroupCommit, type GroupLimits } from '../group-commit.ts';

/** The state of a key's rate limit, as its client receives it. */
export interface RateState {
  remaining: number;
  /** Seconds until the oldest counted request no longer counts. */
  resetSeconds: number;
}

export interface RateVerdict extends RateState {
  admitted: boolean;
  retryAfterSeconds: number | null;
}

interface Hit {
  keyId: string;
  rpm: number;
}

/**
 * Counts requests per key over all processes, by the database's clock (`hit_rates`). Chat requests are counted in the call that
 * admits them (`ChatLedger.admit`); all others are counted here.
 */
export class RateLimiter {
  readonly #hits: GroupCommit<Hit, RateVerdict>;

  constructor(database: Database, limits: GroupLimits) {
    const batches = new RateBatches<Hit>(({ keyId }) => keyId);
    this.#hits = new GroupCommit({
      ...limits,
      run: (hits, again) => hitRates(database, hits, batches.of(hits, again)),
    });
  }

  /** Counts one request of a key: at most `rpm` are admitted in any 60 seconds (rules "Keys and auth"). */
  hit(keyId: string, rpm: number): Promise<RateVerdict> {
    return this.#hits.submit({ keyId, rpm });
  }

  flush(): Promise<void> {
    return this.#hits.flush();
  }
}

async function hitRates(
  database: Database,
  hits: Hit[],
  { positions, sender, batch, again }: RateBatch,
): Promise<RateVerdict[]> {
  const values = [hits.map(({ keyId }) => keyId), hits.map(({ rpm }) => rpm), positions, sender, batch, again];
  return database.query<RateVerdict>(
    'hit-rates',
    `select admitted, remaining, reset_after as reset_seconds, retry_after as retry_after_seconds
     from hit_rates($1, $2, $3, $4, $5, $6)`,
    values,
  );
}
