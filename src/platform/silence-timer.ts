/**
 * Calls `onSilence` once nothing was heard for some time. After a pause of this process its timers fire before it reads what has arrived
 * meanwhile, so the call waits until that was read.
 */
export class SilenceTimer {
  readonly #end: () => void;
  #timer: NodeJS.Timeout | undefined;
  #verdict: NodeJS.Immediate | undefined;

  constructor(onSilence: () => void) {
    this.#end = () => {
      this.#timer = undefined;
      onSilence();
    };
  }

  /** Waits for `ms` milliseconds of silence from now on. */
  start(ms: number): void {
    this.stop();
    this.#timer = setTimeout(() => (this.#verdict = setImmediate(this.#end)), ms);
  }

  /** Puts the end of the silence off. */
  heard(): void {
    clearImmediate(this.#verdict);
    this.#timer?.refresh();
  }

  stop(): void {
    clearTimeout(this.#timer);
    clearImmediate(this.#verdict);
    this.#timer = undefined;
  }
}
