import type { AppContext } from '../context.ts';

/** Calls `onEnd` when the whole answer was sent, or when the client has left or was cut off before that. */
export function whenEnded({ res }: Pick<AppContext, 'res'>, onEnd: (isDelivered: boolean) => unknown): void {
  const end = () => void onEnd(res.writableFinished);
  if (res.closed) end();
  else res.once('close', end);
}

/** Calls `onLost` if the client leaves or is cut off before its whole answer was sent. */
export const whenLost = (ctx: Pick<AppContext, 'res'>, onLost: () => unknown): void =>
  whenEnded(ctx, (isDelivered) => isDelivered || onLost());

/** Fires when the client has disconnected, or when its answer has been sent. */
export function whenGone(ctx: Pick<AppContext, 'res'>): AbortSignal {
  const gone = new AbortController();
  whenEnded(ctx, () => gone.abort());
  return gone.signal;
}
