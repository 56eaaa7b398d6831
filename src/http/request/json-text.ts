import type { AppContext } from '../context.ts';

/**
 * Answers JSON that is text already and may be many megabytes, as bytes: a string would be in the heap and a second time in the socket until a
 * slow client has read it.
 */
export function sendJsonText(ctx: AppContext, text: string): void {
  ctx.type = 'application/json; charset=utf-8';
  ctx.body = Buffer.from(text);
}
