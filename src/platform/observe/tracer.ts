import type { WorkflowClientInterceptor } from '@temporalio/client';
import type { WorkerOptions } from '@temporalio/worker';

/** Facts about a span: ids, codes, numbers and words of our own. Never a client's text, an address of a client, or a secret. */
export type SpanFacts = Readonly<Record<string, string | number | boolean | string[] | null | undefined>>;

/** Carries the trace of a request to the work that is done for it later, perhaps by another process. */
export interface Tracer {
  /** The running span in the format of W3C Trace Context, to be stored with a task; null if nothing is traced. */
  traceparent(): string | null;
  /** Runs `work` in a span of a stored trace; in none if there is no such trace. */
  resume<T>(traceparent: string | null, name: string, work: () => Promise<T>): Promise<T>;
}

/** Records nothing. For a process without OTEL_EXPORTER_OTLP_ENDPOINT. */
export const noTracer: Tracer = {
  traceparent: () => null,
  resume: (_traceparent, _name, work) => work(),
};

export interface Span {
  readonly traceId: string;
  /** Runs `work` in the span: spans that begin there are below this one. */
  run<T>(work: () => T): T;
  note(facts: SpanFacts): void;
  rename(name: string): void;
  /** Ends the span. `failure` is the class or the code of an error. Called again, it does nothing. */
  end(failure?: string): void;
}

export interface SpanStart {
  name: string;
  /** `client`: it waits for another system. The default is `internal`. */
  kind?: 'client' | 'internal';
  facts?: SpanFacts;
  /** When the work began, in milliseconds since 1970, if the span is recorded after its end. The default is now. */
  startedAt?: number;
}

/** All operations of tracing. Where traces are on, `main` wraps the dependencies with it (`trace-deps.ts`). */
export interface Tracing extends Tracer {
  /** The running span, which a member of a batch keeps when it joins. The batch hands it to `together`. */
  here(): unknown;
  /** Runs the call of a batch. A span that begins in it begins in each of these spans. */
  together<T>(spans: readonly unknown[], work: () => Promise<T>): Promise<T>;
  /** Begins the span of a request. `traceparent` is the header of its client, empty or invalid if it continues no trace. */
  serve(name: string, traceparent: string): Span;
  /** Begins a span below the running one. Null if none runs, or if its trace is not recorded. */
  begin(start: SpanStart): Span | null;
  /** Adds facts to the running span. */
  note(facts: SpanFacts): void;
  /** The trace id of the running span, for log lines. */
  traceId(): string | undefined;
  temporal: {
    client: WorkflowClientInterceptor;
    /** For the worker of a queue. Its workflows need a bundle with the interceptors. */
    worker: Pick<WorkerOptions, 'interceptors' | 'sinks'>;
  };
  /** Sends the spans that have ended. Waits two seconds at most, so that a collector that is away delays no stop. */
  close(): Promise<void>;
}

/** Runs `work` in a span, or without one if the running trace is not recorded. An error is noted by its label and thrown on. */
export async function inSpan<T>(
  tracing: Pick<Tracing, 'begin'>,
  start: SpanStart,
  work: (note: (facts: SpanFacts) => void) => Promise<T>,
): Promise<T> {
  const span = tracing.begin(start);
  if (!span) return work(() => undefined);
  try {
    return await span.run(() => work((facts) => span.note(facts)));
  } catch (error) {
    span.end(errorLabel(error));
    throw error;
  } finally {
    span.end();
  }
}

/** The code or the class of an error, because its message may quote a client's text. */
export function errorLabel(error: unknown): string {
  if (!(error instanceof Error)) return 'error';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}
