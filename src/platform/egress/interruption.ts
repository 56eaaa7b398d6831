import { SilenceTimer } from '../silence-timer.ts';

/**
 * How an exchange can fail. `dns` no address · `connect` no connection · `tls` the certificate or handshake failed ·
 * `timeout` the total time ran out · `reset` the peer closed the connection or did not speak HTTP · `too_large` more than allowed ·
 * `aborted` by the caller's own signal.
 */
export type EgressFailure = 'dns' | 'connect' | 'tls' | 'timeout' | 'reset' | 'too_large' | 'aborted';

/** The guard ended the exchange because of this failure. */
export class Interruption extends Error {
  readonly failure: EgressFailure;

  constructor(failure: EgressFailure, options?: ErrorOptions) {
    super(failure, options);
    this.failure = failure;
  }
}

/** A signal that aborts with an `Interruption` on timeout or with the caller's signal. `release` removes timer and listener. */
export function createTimeLimit(timeoutMs: number, callerSignal?: AbortSignal) {
  const controller = new AbortController();
  const end = (failure: EgressFailure) => controller.abort(new Interruption(failure));
  const onCallerAbort = () => end('aborted');
  const timer = new SilenceTimer(() => end('timeout')).start(timeoutMs);
  if (callerSignal?.aborted) onCallerAbort();
  callerSignal?.addEventListener('abort', onCallerAbort);
  return {
    signal: controller.signal,
    release: () => {
      timer.stop();
      callerSignal?.removeEventListener('abort', onCallerAbort);
    },
  };
}

/** Waits for `work` until the signal aborts. The work may continue, because the system's DNS lookup cannot be cancelled. */
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
