/** A pause of this process counts as one piece at most. */
const PIECES = 4;

/**
 * Calls `onSilence` once nothing was heard for some time, of which a pause of this process counts as a quarter at most. After a pause the
 * timers fire before the process reads what has arrived, and a peer sends only then what did not fit the buffers between them.
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

  /** Lets the process end before. */
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
