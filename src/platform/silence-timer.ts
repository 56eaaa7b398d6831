/** Calls `onSilence` once nothing was heard for some time. */
export class SilenceTimer {
  readonly #onSilence: () => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(onSilence: () => void) {
    this.#onSilence = onSilence;
  }

  /** Waits for `ms` milliseconds of silence from now on. */
  start(ms: number): void {
    this.stop();
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#onSilence();
    }, ms);
  }

  /** Puts the end of the silence off. */
  heard(): void {
    this.#timer?.refresh();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
