import { randomInt } from 'node:crypto';

/** How a batch of requests is counted by `count_rates.sql`. */
export interface RateBatch {
  sender: number;
  batch: number;
  again: boolean;
  /** The position of each request among the counted requests of its key, from 1; null if it is not counted. */
  positions: (number | null)[];
}

/**
 * Numbers the batches of one sender, which must send them one after another. A batch that is sent again after a lost connection keeps
 * its number and the positions of its requests, so that the database recognises it and counts it once.
 */
export class RateBatches<Request extends object> {
  readonly #keyOf: (request: Request) => string | null;
  readonly #sender = randomInt(2 ** 47);
  #batch = 0;
  #positions = new Map<Request, number | null>();

  /** @param keyOf the key whose rate the request counts against; null if it is not counted */
  constructor(keyOf: (request: Request) => string | null) {
    this.#keyOf = keyOf;
  }

  of(requests: readonly Request[], again: boolean): RateBatch {
    if (!again) this.#begin(requests);
    const positions = requests.map((request) => this.#positions.get(request) ?? null);
    return { sender: this.#sender, batch: this.#batch, again, positions };
  }

  #begin(requests: readonly Request[]): void {
    this.#batch += 1;
    this.#positions = new Map();
    const counted = new Map<string, number>();
    for (const request of requests) {
      const key = this.#keyOf(request);
      const position = key === null ? null : (counted.get(key) ?? 0) + 1;
      if (key !== null && position !== null) counted.set(key, position);
      this.#positions.set(request, position);
    }
  }
}
