import type { AppContext } from '../context.ts';

/** Fires when the client has disconnected, or when its answer has been sent. */
export function whenGone({ res }: Pick<AppContext, 'res'>): AbortSignal {
  const gone = new AbortController();
  res.once('close', () => gone.abort());
  if (res.closed) gone.abort();
  return gone.signal;
}
