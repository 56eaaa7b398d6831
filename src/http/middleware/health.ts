import { within } from '../../platform/pause.ts';
import type { AppContext, AppMiddleware } from '../context.ts';

/**
 * `/livez` says that the event loop runs. It depends on nothing else, because an outage of the database must not restart every process. `/readyz`
 * says whether this process should get new requests: the database answers (checked every 2 s at most; an answer that came while the process
 * paused counts) and the process is not stopping. Both come before the in-flight limit, so that a full process is not taken for a dead one.
 */
export function health(isReady: () => Promise<boolean>, isStopping: () => boolean): AppMiddleware {
  const readiness = cached(isReady);
  const answer = async (ctx: AppContext): Promise<void> => {
    const good = ctx.path === '/livez' || (!isStopping() && (await readiness()));
    ctx.status = good ? 200 : 503;
    ctx.body = { status: good ? 'ok' : 'unavailable' };
  };
  return (ctx, next) => {
    const isProbe = probes.has(ctx.path) && ['GET', 'HEAD'].includes(ctx.method);
    return isProbe ? answer(ctx) : next();
  };
}

const probes = new Set(['/livez', '/readyz']);

const CACHE_MS = 2_000;
const ANSWER_WITHIN_MS = 1_000;

function cached(isReady: () => Promise<boolean>): () => Promise<boolean> {
  let latest: { at: number; answer: Promise<boolean> } | null = null;
  return () => {
    const now = performance.now();
    if (latest === null || now - latest.at >= CACHE_MS) latest = { at: now, answer: isReadyWithin(isReady) };
    return latest.answer;
  };
}

const isReadyWithin = async (isReady: () => Promise<boolean>): Promise<boolean> =>
  (await within(ANSWER_WITHIN_MS, isReady()).catch(() => false)) ?? false;
