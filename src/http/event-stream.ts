import type { AppContext } from './context.ts';
import { cutOffSlowReader } from './slow-reader.ts';

/** Load balancers and clients close a connection that is silent for longer; common limits start at 30 s. */
const SILENCE_MS = 15_000;
/** What one slow reader may hold in memory. Beyond it nothing more is read from the provider. */
const BUFFERED_MAX_BYTES = 256_000;
/** The time in which a reader must take 1 kB for each second of it. */
const SLOW_WINDOW_SECONDS = 30;

/**
 * An answer as Server-Sent Events (https://html.spec.whatwg.org/multipage/server-sent-events.html). Status and headers leave with the
 * first event, or after 15 s of silence with a comment; until then the request can still be refused. Another comment follows
 * after each further 15 s of silence.
 */
export class EventStream {
  readonly #ctx: AppContext;
  readonly #gone = new AbortController();
  readonly #silence: NodeJS.Timeout;
  #isOpen = false;

  constructor(ctx: AppContext) {
    this.#ctx = ctx;
    this.#silence = setTimeout(() => void this.write(': the answer is on its way\n\n'), SILENCE_MS);
    if (ctx.res.closed) this.#end();
    else ctx.res.once('close', () => this.#end());
  }

  /** Fires when the client has left, or has read too slowly for 30 s, before the end was sent. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  /** Whether status and headers have left. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Sends events. The promise, if there is one, resolves when the client has caught up or has left. */
  write(events: string): Promise<void> | undefined {
    const { res } = this.#ctx;
    if (res.closed) return undefined;
    this.#open();
    this.#silence.refresh();
    res.write(events);
    if (res.writableLength < BUFFERED_MAX_BYTES) return undefined;
    return new Promise((resolve) => {
      const done = (): void => {
        res.off('drain', done).off('close', done);
        resolve();
      };
      res.on('drain', done).on('close', done);
    });
  }

  /** Sends the last events. */
  end(events: string): void {
    const { res } = this.#ctx;
    if (res.closed) return;
    this.#open();
    clearTimeout(this.#silence);
    res.end(events);
  }

  /** Stops the timer, for a request that is answered otherwise. */
  close(): void {
    clearTimeout(this.#silence);
  }

  #open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    const { res } = this.#ctx;
    // Koa must not answer a second time.
    this.#ctx.respond = false;
    res.statusCode = 200;
    res.setHeader('content-type', 'text/event-stream; charset=utf-8');
    // nginx would hold the events back otherwise.
    res.setHeader('x-accel-buffering', 'no');
    res.flushHeaders();
    cutOffSlowReader(res, SLOW_WINDOW_SECONDS);
  }

  #end(): void {
    clearTimeout(this.#silence);
    if (!this.#ctx.res.writableFinished) this.#gone.abort();
  }
}
