import type { AppContext } from '../context.ts';

/** Calls `onLost` if the client leaves or is cut off before its whole answer was sent. */
export function whenLost({ res }: Pick<AppContext, 'res'>, onLost: () => unknown): void {
  if (res.closed) onLost();
  else res.once('close', () => res.writableFinished || onLost());
}

/** Fires when the client has disconnected, or when its answer has been sent. */
export function whenGone({ res }: Pick<AppContext, 'res'>): AbortSignal {
  const gone = new AbortController();
  res.once('close', () => gone.abort());
  if (res.closed) gone.abort();
  return gone.signal;
}
