import type { Agent, Dispatcher } from 'undici';
import {
  addressOf,
  nameOf,
  parse,
  readHeaders,
  requestOf,
  type AnswerHeaders,
  type CallOutcome,
} from './upstream-request.ts';
import type { UpstreamCall } from './upstream-request.ts';
import type { Upstream } from './channel.ts';

/** The longest silences of a streamed answer, in milliseconds. */
export interface SilenceLimits {
  /** From the call to the first byte of the answer's body. */
  firstByteMs: number;
  /** Between two pieces of the body. The time in which nobody reads does not count. */
  idleMs: number;
  /** From the headers to the end of an answer that is not streamed. */
  wholeMs: number;
}

export type StreamedCall = UpstreamCall & { limits: SilenceLimits; bodyBytesMax: number };

/** An answer that arrives piece by piece. */
export interface UpstreamStream {
  kind: 'streaming';
  status: number;
  /**
   * The bytes of the body that have arrived since the last call, or the next ones; null after its end. Throws `StreamCut` if it breaks off.
   * While nobody reads, at most 64 kB are received.
   */
  read(): Promise<Buffer | null>;
  /** Closes the connection. Harmless after the end. */
  stop(): void;
}

/** The body of a streamed answer broke off: a reset, or a silence that was too long. */
export class StreamCut extends Error {
  readonly isSilence: boolean;

  constructor(message: string, isSilence: boolean) {
    super(message);
    this.name = 'StreamCut';
    this.isSilence = isSilence;
  }
}

/** Received and not yet read. More is left in the socket, so that a slow reader slows the provider down. */
const WAITING_MAX_BYTES = 65_536;

/**
 * Sends one call whose answer may be `text/event-stream`. Any other answer is read to its end, as `UpstreamCaller.call` reads it, and
 * must have at most `bodyBytesMax` bytes.
 */
export function streamOnce(
  agent: Agent,
  upstream: Upstream,
  call: StreamedCall,
): Promise<CallOutcome | UpstreamStream> {
  const address = addressOf(`${upstream.baseUrl}${call.path}`);
  if (!address) return Promise.resolve({ kind: 'not_sent', detail: 'the base URL is not a URL' });
  return new Promise((resolve) => {
    const exchange = new Exchange(call, resolve);
    agent.dispatch(
      { ...requestOf(address, upstream, call, 0, 'text/event-stream, application/json'), bodyTimeout: 0 },
      exchange,
    );
  });
}

/** One streamed exchange, as undici reports it. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #limits: SilenceLimits;
  readonly #bytesMax: number;
  readonly #resolve: (outcome: CallOutcome | UpstreamStream) => void;
  readonly #signal: AbortSignal | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #answer: { status: number; headers: AnswerHeaders } | undefined;
  #body: ChunkQueue | undefined;
  readonly #whole: Buffer[] = [];
  #bytes = 0;
  #isOver = false;
  #silence: NodeJS.Timeout;

  constructor(call: StreamedCall, resolve: (outcome: CallOutcome | UpstreamStream) => void) {
    this.#limits = call.limits;
    this.#bytesMax = call.bodyBytesMax;
    this.#resolve = resolve;
    this.#signal = call.signal;
    this.#silence = setTimeout(() => this.#cut('timeout', true), call.limits.firstByteMs);
    call.signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  readonly #onAbort = (): void => this.#cut('ended by the caller', false);

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#isOver || this.#signal?.aborted) {
      this.#onAbort();
      controller.abort(new Error('ended before it was sent'));
    }
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (status < 200) return;
    this.#answer = { status, headers: readHeaders(headers) };
    if (status >= 300 || !isEventStream(headers)) {
      this.#watch(this.#limits.wholeMs);
      return;
    }
    const body = new ChunkQueue({
      pause: () => {
        clearTimeout(this.#silence);
        controller.pause();
      },
      resume: () => {
        this.#watch();
        controller.resume();
      },
    });
    this.#body = body;
    this.#resolve({
      kind: 'streaming',
      status,
      read: () => body.read(),
      stop: () => this.#cut('ended by the caller', false),
    });
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isOver) return;
    if (this.#body) {
      if (this.#bytes === 0) this.#watch();
      else this.#silence.refresh();
      this.#bytes += chunk.length;
      this.#body.push(chunk);
      return;
    }
    this.#bytes += chunk.length;
    if (this.#bytes > this.#bytesMax) this.#cut('too_large', false);
    else this.#whole.push(chunk);
  }

  onResponseEnd(): void {
    if (this.#isOver) return;
    this.#finish();
    if (this.#body) return this.#body.end(null);
    const answer = this.#answer;
    if (!answer) return this.#resolve({ kind: 'interrupted', detail: 'no status' });
    const isPlain = (answer.headers['content-encoding'] ?? 'identity') === 'identity';
    const body = isPlain ? parse(Buffer.concat(this.#whole)) : { unreadable: 'encoded' as const };
    this.#resolve({ kind: 'answered', ...answer, body });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#cut(nameOf(error), false);
  }

  #watch(ms = this.#limits.idleMs): void {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => this.#cut('timeout', true), ms);
  }

  #finish(): void {
    this.#isOver = true;
    clearTimeout(this.#silence);
    this.#signal?.removeEventListener('abort', this.#onAbort);
  }

  /** Ends the exchange before its answer is complete. */
  #cut(why: string, isSilence: boolean): void {
    if (this.#isOver) return;
    this.#finish();
    if (this.#body) this.#body.end(new StreamCut(why, isSilence));
    else if (why === 'too_large' && this.#answer) {
      this.#resolve({ kind: 'answered', ...this.#answer, body: { unreadable: 'too_large' } });
    } else if (this.#answer) {
      const unreadable = isSilence || why === 'ended by the caller' ? 'timed_out' : 'cut_short';
      this.#resolve({ kind: 'answered', ...this.#answer, body: { unreadable } });
    } else this.#resolve({ kind: this.#controller ? 'interrupted' : 'not_sent', detail: why });
    this.#controller?.abort(new Error(why));
  }
}

function isEventStream(headers: Record<string, string | string[] | undefined>): boolean {
  const type = headers['content-type'];
  return typeof type === 'string' && /^text\/event-stream\b/i.test(type);
}

/** Chunks in order, for one reader that waits for each read to resolve. */
class ChunkQueue {
  readonly #flow: { pause(): void; resume(): void };
  #chunks: Buffer[] = [];
  #bytes = 0;
  #isPaused = false;
  /** Undefined while more may come, null after a whole body. */
  #ended: StreamCut | null | undefined;
  #reader: PromiseWithResolvers<Buffer | null> | undefined;

  constructor(flow: { pause(): void; resume(): void }) {
    this.#flow = flow;
  }

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (!this.#isPaused && this.#bytes >= WAITING_MAX_BYTES) {
      this.#isPaused = true;
      this.#flow.pause();
    }
    this.#serve();
  }

  end(cut: StreamCut | null): void {
    this.#ended = cut;
    this.#serve();
  }

  read(): Promise<Buffer | null> {
    const reader = Promise.withResolvers<Buffer | null>();
    this.#reader = reader;
    this.#serve();
    return reader.promise;
  }

  #serve(): void {
    const reader = this.#reader;
    if (!reader || (this.#chunks.length === 0 && this.#ended === undefined)) return;
    this.#reader = undefined;
    if (this.#chunks.length > 0) reader.resolve(this.#takeAll());
    else if (this.#ended) reader.reject(this.#ended);
    else reader.resolve(null);
  }

  #takeAll(): Buffer {
    const [first] = this.#chunks;
    const all = first && this.#chunks.length === 1 ? first : Buffer.concat(this.#chunks);
    this.#chunks = [];
    this.#bytes = 0;
    if (this.#isPaused && this.#ended === undefined) {
      this.#isPaused = false;
      this.#flow.resume();
    }
    return all;
  }
}
