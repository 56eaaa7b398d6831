import { Worker } from 'node:worker_threads';
import { z } from 'zod';
import type { PdfSize } from '../../domain/chat/chat.ts';
import { fromBase64 } from '../media/base64.ts';

/** The size of a PDF; null if it has no known bound; `no_pdf` for bytes that are none; `no_base64` for a text that is none. */
export type MeasuredPdf = PdfSize | null | 'no_pdf' | 'no_base64';

const Measured = z.object({
  id: z.number(),
  measured: z.array(z.union([z.null(), z.literal('no_pdf'), z.object({ pages: z.number(), textBytes: z.number() })])),
});
type ThreadAnswer = z.infer<typeof Measured>['measured'];

/** Requests of one owner that wait. Those beyond it are not measured. */
const OWNER_WAITING_MAX = 16;
const WAITING_MAX = 500;
const THREAD_MEGABYTES_MAX = 192;
/** The share of the time for an answer in which the thread decodes. It gives up after that, so that it is ended only if it hangs. */
const DECODING_SHARE = 2 / 3;

interface MeasureRequest {
  documents: readonly string[];
  answer: (measured: MeasuredPdf[]) => void;
}
interface RunningRequest {
  id: number;
  end: (measured: ThreadAnswer | null) => void;
}

/**
 * Measures PDFs in a thread of its own, one request after another: a document is decoded there, and a hostile one can neither block the event loop nor take
 * more than the thread's memory and time. The thread starts with the first document and ends when it has had nothing to do for a while. What was not
 * measured in time is null.
 */
export class PdfMeter {
  readonly #idleMs: number;
  readonly #answerMs: number;
  readonly #waitMs: number;
  #thread: Worker | null = null;
  #idle: NodeJS.Timeout | undefined;
  #count = 0;
  #running: RunningRequest | null = null;
  /** Owners in the order of their turns. */
  readonly #lines = new Map<string, MeasureRequest[]>();

  constructor({ idleMs = 60_000, answerMs = 6_000, waitMs = 15_000 } = {}) {
    this.#idleMs = idleMs;
    this.#answerMs = answerMs;
    this.#waitMs = waitMs;
  }

  /** Measures the documents of one request, given in base64. Never throws. `owner` takes turns with the other owners. */
  measure(owner: string, documents: readonly string[]): Promise<MeasuredPdf[]> {
    if (documents.length === 0) return Promise.resolve([]);
    const line = this.#lines.get(owner) ?? [];
    const waiting = [...this.#lines.values()].reduce((sum, { length }) => sum + length, 0);
    const unmeasured = documents.map(() => null);
    if (line.length >= OWNER_WAITING_MAX || waiting >= WAITING_MAX) return Promise.resolve(unmeasured);
    clearTimeout(this.#idle);
    return new Promise((resolve) => {
      const answer = (measured: MeasuredPdf[]): void => {
        clearTimeout(tooLong);
        resolve(measured);
      };
      const request: MeasureRequest = { documents, answer };
      const tooLong = setTimeout(() => {
        this.#leave(owner, request);
        resolve(unmeasured);
      }, this.#waitMs);
      this.#lines.set(owner, [...line, request]);
      this.#next();
    });
  }

  async close(): Promise<void> {
    const waiting = [...this.#lines.values()].flat();
    this.#lines.clear();
    for (const { documents, answer } of waiting) answer(documents.map(() => null));
    await this.#endThread();
    clearTimeout(this.#idle);
  }

  #leave(owner: string, request: MeasureRequest): void {
    const others = (this.#lines.get(owner) ?? []).filter((one) => one !== request);
    if (others.length > 0) this.#lines.set(owner, others);
    else this.#lines.delete(owner);
  }

  #next(): void {
    if (this.#running) return;
    const [first] = this.#lines;
    if (!first) {
      this.#idle = setTimeout(() => void this.#endThread(), this.#idleMs).unref();
      return;
    }
    const [owner, [request, ...others]] = first;
    // An owner with more requests goes to the end of the order.
    this.#lines.delete(owner);
    if (others.length > 0) this.#lines.set(owner, others);
    if (request) this.#run(request);
  }

  #run({ documents, answer }: MeasureRequest): void {
    const decoded = documents.map(fromBase64);
    const readable = decoded.flatMap((bytes) => bytes ?? []);
    const id = (this.#count += 1);
    const late = setTimeout(() => void this.#endThread(), this.#answerMs);
    this.#running = {
      id,
      end: (measured) => {
        clearTimeout(late);
        this.#running = null;
        const rest = measured?.values();
        answer(decoded.map((bytes) => (bytes === null ? 'no_base64' : (rest?.next().value ?? null))));
        this.#next();
      },
    };
    this.#thread ??= this.#startThread();
    // The bytes move to the thread without a copy.
    this.#thread.postMessage(
      { id, withinMs: this.#answerMs * DECODING_SHARE, documents: readable },
      readable.map(({ buffer }) => buffer),
    );
  }

  #startThread(): Worker {
    const resourceLimits = { maxOldGenerationSizeMb: THREAD_MEGABYTES_MAX };
    const started = new Worker(new URL('./pdf-thread.ts', import.meta.url), { resourceLimits });
    // A thread that measures must not keep a stopping process alive.
    started.unref();
    started.on('message', (message: unknown) => {
      const { id, measured } = Measured.parse(message);
      if (this.#running?.id === id) this.#running.end(measured);
    });
    started.on('error', () => {
      if (this.#thread === started) void this.#endThread();
    });
    return started;
  }

  async #endThread(): Promise<void> {
    clearTimeout(this.#idle);
    const ending = this.#thread;
    this.#thread = null;
    this.#running?.end(null);
    await ending?.terminate();
  }
}
