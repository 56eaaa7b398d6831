/** The pieces that a silence is counted in. */
export const PIECES = 4;

/**
 * Calls `onSilence` once nothing was heard for some time. A pause of this process ends one of four pieces of that time at most. After a pause
 * its timers fire before it reads what has arrived, and only once it reads can the peer send what the buffers did not hold.
 */
export class SilenceTimer {
  readonly #onSilence: () => void;
  #timer: NodeJS.Timeout | undefined;
  #verdict: NodeJS.Immediate | undefined;
  #silentPieces = 0;

  constructor(onSilence: () => void) {
    this.#onSilence = onSilence;
  }

  /** Waits for `ms` milliseconds of silence from now on. */
  start(ms: number): this {
    this.stop();
    this.#timer = setTimeout(() => (this.#verdict = setImmediate(() => this.#endPiece())), Math.ceil(ms / PIECES));
    return this;
  }

  /** Puts the end of the silence off. */
  heard(): void {
    this.#silentPieces = 0;
    clearImmediate(this.#verdict);
    this.#timer?.refresh();
  }

  /** Lets the process exit while it waits. */
  unref(): void {
    this.#timer?.unref();
  }

  stop(): void {
    this.#silentPieces = 0;
    clearTimeout(this.#timer);
    clearImmediate(this.#verdict);
    this.#timer = undefined;
  }

  #endPiece(): void {
    this.#silentPieces += 1;
    if (this.#silentPieces < PIECES) return void this.#timer?.refresh();
    this.#timer = undefined;
    this.#onSilence();
  }
}

/** Aborts with a `TimeoutError` after `ms` milliseconds, of which a pause of this process is a quarter at most. Lets the process exit before. */
export function pausableTimeout(ms: number): AbortSignal {
  const controller = new AbortController();
  const timer = new SilenceTimer(() => controller.abort(new DOMException('The time ran out.', 'TimeoutError')));
  timer.start(ms).unref();
  return controller.signal;
}
