/**
 * How an exchange can fail. `dns` no address · `connect` no connection · `tls` the certificate or handshake failed ·
 * `timeout` the total time ran out · `reset` the peer broke off or did not speak HTTP · `too_large` more than allowed ·
 * `aborted` by the caller's own signal.
 */
export type EgressFailure = 'dns' | 'connect' | 'tls' | 'timeout' | 'reset' | 'too_large' | 'aborted';

/** An exchange that the guard itself ends, with the failure to report. */
export class Interruption extends Error {
  readonly failure: EgressFailure;

  constructor(failure: EgressFailure, options?: ErrorOptions) {
    super(failure, options);
    this.failure = failure;
  }
}

/** A signal that aborts with an `Interruption` when the time is over or the caller's signal aborts. `release` frees both. */
export function createTimeLimit(timeoutMs: number, callerSignal: AbortSignal | undefined) {
  const controller = new AbortController();
  const end = (failure: EgressFailure) => controller.abort(new Interruption(failure));
  const onCallerAbort = () => end('aborted');
  const timer = setTimeout(() => end('timeout'), timeoutMs);
  if (callerSignal?.aborted) onCallerAbort();
  callerSignal?.addEventListener('abort', onCallerAbort);
  return {
    signal: controller.signal,
    release: () => {
      clearTimeout(timer);
      callerSignal?.removeEventListener('abort', onCallerAbort);
    },
  };
}

/** Waits for `work` until the signal aborts. The work itself may go on: the system's DNS lookup cannot be cancelled. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(asError(signal.reason));
  signal.addEventListener('abort', onAbort);
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

export const asError = (reason: unknown): Error => (reason instanceof Error ? reason : new Error(String(reason)));
