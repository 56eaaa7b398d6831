import type { AppContext } from './context.ts';

/**
 * Whether the client already has this version and gets 304: `If-None-Match` lists `etag` or is `*` (RFC 9110 §13.1.2, weak
 * comparison). Koa's `fresh` cannot be used: `Cache-Control: no-cache` disables it, and fetch adds that to every conditional request.
 */
export const isNotModified = (ctx: AppContext, etag: string): boolean => {
  const header = ctx.get('if-none-match');
  return header === '*' || header.split(',').some((item) => strong(item.trim()) === strong(etag));
};

const strong = (tag: string): string => tag.replace(/^W\//, '');
