/**
 * Calls `onSilence` once nothing was heard for some time. To note the time of each sound costs a tenth of moving one of Node's timers, which
 * counts where sounds are the pieces of many streams.
 */
export class SilenceTimer {
  readonly #onSilence: () => void;
  #ms = 0;
  #heardAt = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(onSilence: () => void) {
    this.#onSilence = onSilence;
  }

  /** Waits for `ms` milliseconds of silence from now on. */
  start(ms: number): void {
    this.stop();
    this.#ms = ms;
    this.heard();
    this.#wait(ms);
  }

  /** Puts the end of the silence off. */
  heard(): void {
    this.#heardAt = performance.now();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #wait(ms: number): void {
    this.#timer = setTimeout(() => {
      const leftMs = this.#heardAt + this.#ms - performance.now();
      if (leftMs > 0) this.#wait(leftMs);
      else this.#onSilence();
    }, ms);
  }
}
