import type { DetailRow } from '../commands/details/detail-recorder.ts';
import type { AppContext } from './context.ts';

/**
 * The detail row of an answered request: ids, numbers and the route's template. It has no client input, so that no part of a
 * prompt, a key or a URL can end up in it.
 */
export function detailOf(ctx: AppContext, answered: { route: string; status: number; ms: number }): DetailRow {
  const { requestId, key, modelId, creditsQuoted } = ctx.state;
  // A replay shows the numbers of the original request but costs nothing itself.
  const isReplay = ctx.res.hasHeader('Idempotent-Replayed');
  return {
    atMs: Date.now(),
    requestId,
    method: knownMethods.has(ctx.method) ? ctx.method : 'other',
    ...answered,
    ms: Math.min(Math.round(answered.ms), 2_147_483_647),
    keyId: key?.keyId ?? null,
    projectId: key?.projectId ?? null,
    modelId: modelId ?? null,
    credits: isReplay ? null : (toldBy(ctx, 'x-tollgate-credits') ?? creditsQuoted ?? null),
    attempts: isReplay ? null : toldBy(ctx, 'x-tollgate-attempts'),
  };
}

const knownMethods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** The number in a header of the answer. */
function toldBy(ctx: AppContext, header: string): number | null {
  const text = ctx.response.get(header);
  return /^\d{1,15}$/.test(text) ? Number(text) : null;
}
