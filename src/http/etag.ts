import type { AppContext } from './context.ts';

/**
 * Whether the client already holds this version, so that 304 is the answer: `If-None-Match` lists `etag` or is `*` (RFC
 * 9110 §13.1.2, weak comparison). Koa's `fresh` differs: it gives way to `Cache-Control: no-cache`, which fetch adds to
 * every conditional request.
 */
export const isNotModified = (ctx: AppContext, etag: string): boolean => {
  const header = ctx.get('if-none-match');
  return header === '*' || header.split(',').some((item) => strong(item.trim()) === strong(etag));
};

const strong = (tag: string): string => tag.replace(/^W\//, '');
