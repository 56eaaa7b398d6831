import type { AppContext } from '../context.ts';

/**
 * Whether the client already has this version and gets 304: `If-None-Match` lists `etag` or is `*` (RFC 9110 §13.1.2, weak
 * comparison). Koa's `fresh` cannot be used: `Cache-Control: no-cache` disables it, and fetch adds that to every conditional request.
 */
export const isNotModified = (ctx: AppContext, etag: string): boolean => {
  const header = ctx.get('if-none-match');
  return header === '*' || header.split(',').some((item) => strong(item.trim()) === strong(etag));
};

/** A body with a strong entity tag. Each encoded representation of a resource has a tag of its own. */
export interface Representation {
  body: Buffer;
  etag: string;
  coding?: 'br' | 'zstd' | 'gzip';
  /** The media type. Absent: JSON. */
  type?: string;
}

/**
 * Answers a body, or 304 if the client has it. A cache of the client may store the answer but has to ask again before each use (RFC
 * 9111 §5.2.2.4), and no cache that others share may store it.
 */
export function answerRepresentation(ctx: AppContext, { body, etag, coding, type = jsonType }: Representation): void {
  ctx.res.setHeader('ETag', etag);
  ctx.res.setHeader('Cache-Control', 'private, no-cache');
  if (isNotModified(ctx, etag)) {
    ctx.status = 304;
    return;
  }
  ctx.res.setHeader('Content-Type', type);
  if (coding) ctx.res.setHeader('Content-Encoding', coding);
  ctx.body = body;
}

const jsonType = 'application/json; charset=utf-8';

const strong = (tag: string): string => tag.replace(/^W\//, '');
