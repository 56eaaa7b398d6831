import type { AppMiddleware } from '../context.ts';

export interface HealthDeps {
  isReady: () => Promise<boolean>;
  /** True once the process is stopping. */
  isStopping: () => boolean;
}

/**
 * `/livez` says that the event loop runs. It depends on nothing else, because an outage of the database must not restart every
 * process. `/readyz` says whether this process should get new requests: the database answers (checked every 2 s at most) and the
 * process is not stopping. Both come before the in-flight limit, so that a full process is not taken for a dead one.
 */
export function health({ isReady, isStopping }: HealthDeps): AppMiddleware {
  const readiness = cached(isReady);
  return async (ctx, next) => {
    const isProbe =
      (ctx.path === '/livez' || ctx.path === '/readyz') && (ctx.method === 'GET' || ctx.method === 'HEAD');
    if (!isProbe) {
      await next();
      return;
    }
    const good = ctx.path === '/livez' || (!isStopping() && (await readiness()));
    ctx.status = good ? 200 : 503;
    ctx.body = { status: good ? 'ok' : 'unavailable' };
  };
}

const CACHE_MS = 2_000;
const ANSWER_WITHIN_MS = 1_000;

function cached(isReady: () => Promise<boolean>): () => Promise<boolean> {
  let asked: { at: number; answer: Promise<boolean> } | null = null;
  return () => {
    const now = performance.now();
    if (asked === null || now - asked.at >= CACHE_MS) asked = { at: now, answer: within(isReady) };
    return asked.answer;
  };
}

async function within(isReady: () => Promise<boolean>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), ANSWER_WITHIN_MS);
  });
  try {
    return await Promise.race([isReady(), late]);
  } catch {
    return false;
  } finally {
    clearTimeout(timer);
  }
}
