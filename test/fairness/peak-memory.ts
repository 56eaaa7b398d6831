import { readFileSync } from 'node:fs';
import type { Gateway } from '../support/gateway.ts';

/** Follows the memory of the first API server. */
export class PeakMemory {
  readonly #gateway: Gateway;
  readonly #watch: NodeJS.Timeout;
  #peakBytes = 0;

  constructor(gateway: Gateway) {
    this.#gateway = gateway;
    this.#watch = setInterval(() => this.#measure(), 100);
    this.#measure();
  }

  /** The most memory since it was created. */
  get bytes(): number {
    return this.#peakBytes;
  }

  stop(): void {
    clearInterval(this.#watch);
  }

  #measure(): void {
    const status = readFileSync(`/proc/${this.#gateway.pids()['api-1']}/status`, 'utf8');
    this.#peakBytes = Math.max(this.#peakBytes, 1_024 * Number(/VmRSS:\s*(\d+) kB/.exec(status)?.[1]));
  }
}
